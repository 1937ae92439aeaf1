/** A job that needs only a shell: its files by name. */
export const bareJob = {
  'updraft.toml': `name = "shell"
[train]
command = "sh train.sh"
files = ["train.sh"]
outputs = ["model.pt"]
[resources]
cpus = 1
memory = "100 MB"
time = "10m"
`,
  'train.sh': 'echo epoch=1; echo "a model" > model.pt\n',
};

/** The folder of the run that `updraft run` names at its end. */
export const runNamedIn = (stderr: string): string => /\S*runs\/\S+(?=\/results)/.exec(stderr)?.[0] ?? '';
