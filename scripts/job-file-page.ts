import { ruleTable } from '../src/check/check-facts.ts';
import { checkSpec, fileJsonSchema } from '../src/job/read-spec.ts';

/** Generates docs/job-file.md: every key of the job file, from its schema and from the problems of wrong values. */

interface Node {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  pattern?: string;
  required?: string[];
  items?: Node;
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  anyOf?: Node[];
}

/** An example value for each key, in TOML. */
const examples: Record<string, string> = {
  name: '"cifar10"',
  'train.command': '"python3 train.py --lr {lr}"',
  'train.files': '["train.py", "utils"]',
  'train.outputs': '["model.pt", "metrics.json"]',
  'train.check': '"python3 check.py"',
  'train.checkpoint': '"checkpoints"',
  'train.checkpoint_keep': '3',
  'train.checkpoint_every': '"30m"',
  'train.processes': '"gpus"',
  'train.quiet_limit': '"30m"',
  'train.idle_limit': '"30m"',
  'train.slow_limit': '3',
  'train.env': '{ OMP_NUM_THREADS = 4 }',
  'train.secrets': '{ WANDB_API_KEY = { from = "env" } }',
  'train.secrets.NAME.from': '"file"',
  'train.secrets.NAME.name': '"MY_WANDB_KEY"',
  'train.secrets.NAME.path': '"~/.wandb-key"',
  'data.NAME.url': '"osdf:///ospool/uc-shared/public/data.tar.gz"',
  'data.NAME.into': '"data"',
  'data.NAME.arriving': 'true',
  'data.NAME.unpack': '"nested"',
  'data.NAME.method': '"stream"',
  'data.NAME.keep': '"20 GB"',
  'data.NAME.expect': '{ files = 10, bytes = 2048 }',
  'data.NAME.expect.files': '1281167',
  'data.NAME.expect.bytes': '147897477120',
  'data.NAME.sha256': `"${'0123456789abcdef'.repeat(4)}"`,
  'data.NAME.manifest': '"train.manifest"',
  'data.NAME.token_file': '"my.token"',
  'data.NAME.caches': '["cache.campus.edu:8443"]',
  'data.NAME.avoid_caches': '["slow.example.org"]',
  'environment.image': '"osdf:///my-project/pytorch.sif"',
  'environment.image_token_file': '"my.token"',
  'environment.python': '["torch", "numpy"]',
  'environment.pixi': '"pixi.toml"',
  'environment.pixi_environment': '"gpu"',
  'environment.platform': '"linux-64"',
  'environment.delivery': '"pack"',
  'environment.fallback': '"system"',
  'environment.pack': '"env-1a2b3c4d.sh"',
  'environment.pack.url': '"osdf:///my-project/env-1a2b3c4d.sh"',
  'environment.pack.sha256': `"${'0123456789abcdef'.repeat(4)}"`,
  'environment.pack.bytes': '734003200',
  'environment.pack.manifest': '"env.manifest"',
  'environment.pack.token_file': '"my.token"',
  'environment.pixi_unpack': '"pixi-unpack"',
  'resources.nodes': '2',
  'resources.cpus': '4',
  'resources.gpus': '1',
  'resources.gpu': '{ capability = 7.5, memory = "16 GB" }',
  'resources.gpu.capability': '7.5',
  'resources.gpu.memory': '"16 GB"',
  'resources.gpu.cuda': '"12.1"',
  'resources.memory': '"16 GB"',
  'resources.disk': '"50 GB"',
  'resources.time': '"10h"',
  'run.jobs': '10',
  'run.matrix': '{ lr = [0.1, 0.01] }',
  'run.repeat': '5',
  'run.pool': '"condor"',
  'run.profile': '"ospool"',
  'run.like': '"runs/resnet-1a2b3c"',
  'run.project': '"UWMadison_Physics"',
  'run.requirements': '"TARGET.HasAVX2"',
  'run.partition': '"gpu,gpu-long"',
  'run.qos': '"normal"',
  'run.caches': '["cache.campus.edu:8443"]',
  'run.avoid_caches': '["slow.example.org"]',
  'run.attempts': '5',
  'run.on_end': '"mail -s \\"$UPDRAFT_RUN $UPDRAFT_STATE\\" me@example.org < /dev/null"',
  'recovery.avoid': '"machine"',
  'recovery.memory_max': '"64 GB"',
  'recovery.disk_max': '"200 GB"',
  'recovery.give_up_after': '"7d"',
  'recovery.failed_jobs': '10',
  'search.ranges': '{ lr = { log = [1e-5, 0.1] }, optimizer = ["adam", "sgd"] }',
  'search.trials': '60',
  'search.metric': '"val_accuracy"',
  'search.direction': '"maximize"',
  'search.method': '"asha"',
  'search.epochs': '[1, 3, 9, 27]',
  'search.steps': '[100, 300, 900]',
  'search.eta': '3',
  'search.seed': '0',
  'search.sampler': '"next.py"',
  'results.smaller_is_better': '["latency", "energy"]',
  'results.larger_is_better': '["time_saved"]',
  'pool.agent': '"common"',
  'pool.submit': '{ "+WantGPULab" = true }',
};

/** The rules of docs/check.md that examine a key's well-formed value. */
const rules: Record<string, string[]> = {
  'train.command': ['tool-missing', 'module-missing', 'run-time-download'],
  'train.files': ['native-input'],
  'train.outputs': ['output-unwritten'],
  'train.checkpoint': ['no-checkpoint', 'checkpoint-unused'],
  'train.env': ['secret-in-env'],
  'train.secrets': ['secret-missing'],
  'data.NAME.url': ['web-page', 'object-missing', 'object-unusable', 'servers-differ', 'object-size'],
  'data.NAME.into': ['same-name'],
  'data.NAME.unpack': ['object-unusable'],
  'data.NAME.method': ['native-file'],
  'data.NAME.keep': ['disk-too-small', 'keep-too-small'],
  'data.NAME.expect': ['object-not-as-declared', 'unproven'],
  'data.NAME.sha256': ['object-not-as-declared', 'unproven'],
  'data.NAME.manifest': ['object-unusable'],
  'data.NAME.token_file': ['token-missing', 'token-short'],
  'environment.image': ['image-missing'],
  'environment.python': ['module-missing'],
  'environment.pixi': ['cuda', 'software-fallback'],
  'environment.fallback': ['software-fallback'],
  'resources.gpus': ['no-slot'],
  'resources.gpu.cuda': ['cuda'],
  'resources.memory': ['no-slot'],
  'resources.disk': ['disk-too-small'],
  'resources.time': ['duration', 'no-time'],
  'run.project': ['project'],
  'run.requirements': ['requirements-invalid', 'no-slot'],
};

/** The smallest job file, with one key set. */
function problemsWith(key: string, value: string): string[] {
  const base =
    'name = "a"\n[train]\ncommand = "true {lr}"\noutputs = ["a"]\n[run]\njobs = 20\nmatrix = { lr = [1] }\n';
  const needed: Record<string, string> = {
    data: '[data.NAME]\nurl = "https://example.org/a.tar"\n',
    'train.secrets': '[train.secrets.NAME]\nfrom = "env"\n',
    'environment.pack': '[environment.pack]\nurl = "a.sh"\n',
  };
  const beside = Object.entries(needed).find(([table]) => key.startsWith(`${table}.`))?.[1] ?? '';
  const read = checkSpec(`${base}${beside}`, 'updraft.toml', [
    { file: `--set ${key}`, text: `${key} = ${value}` },
  ]);
  return 'problems' in read
    ? read.problems.filter((one) => one.key === key).map(({ message }) => message)
    : [];
}

/** What `check` expects instead of a value of the wrong type; undefined if it refuses the entire table. */
function expectedBy(key: string): string | undefined {
  for (const wrong of ['[[]]', '1979-05-27', '-1', '"-"'])
    for (const message of problemsWith(key, wrong)) {
      const [, expected] = /expected (.*)$/.exec(message) ?? [];
      if (expected !== undefined) return expected;
    }
  return undefined;
}

function typeOf(node: Node): string {
  if (node.enum !== undefined) return node.enum.map((one) => `\`"${one}"\``).join(', ');
  if (node.anyOf !== undefined) return node.anyOf.map(typeOf).join(' or ');
  if (node.type === 'array') return `list of ${typeOf(node.items ?? {})}s`;
  if (node.type === 'object') return 'table';
  if (node.pattern?.includes('smhdw') === true) return 'duration';
  if (node.pattern?.includes('[kKmM') === true) return 'size';
  return Array.isArray(node.type) ? 'value' : (node.type ?? '');
}

/** Escapes text for a table cell. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** The default from the schema, or from the end of the description. */
function described({ description = '', default: value }: Node): { meaning: string; usual: string } {
  const [, meaning = description, said = ''] = /^(.*) \(default: (.*)\)\.$/.exec(description) ?? [];
  const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  return {
    meaning: said === '' || meaning.endsWith('.') ? meaning : `${meaning}.`,
    usual: value === undefined || isEmpty ? said : `\`${JSON.stringify(value)}\``,
  };
}

function row(key: string, name: string, node: Node, isRequired: boolean): string {
  const example = examples[key];
  if (example === undefined) throw new Error(`scripts/job-file-page.ts has no example of ${key}`);
  const wrong = problemsWith(key, example).filter((message) => message.includes('expected'));
  if (wrong.length > 0) throw new Error(`the example of ${key} is wrong: ${wrong.join('; ')}`);
  const byRule = (rules[key] ?? []).map((rule) => {
    if (!ruleTable.some(({ name }) => name === rule)) throw new Error(`check has no rule ${rule}`);
    return `\`${rule}\``;
  });
  const expected = expectedBy(key);
  const checks = [...(expected === undefined ? [] : [`expects ${expected}`]), byRule.join(', ')];
  const { meaning, usual } = described(node);
  return [
    `\`${name}\``,
    cell(typeOf(node)),
    isRequired ? '**required**' : cell(usual),
    cell(meaning),
    `\`${cell(`${name} = ${example}`)}\``,
    cell(checks.filter((text) => text !== '').join('; ')),
  ].join(' | ');
}

/** The keys of another file, each with its whole name: `key | type | default | what it is`. */
export const keyRows = ({ properties = {} }: Node, table = ''): string[] =>
  Object.entries(properties).flatMap(([name, node]) => {
    if (node.properties !== undefined) return keyRows(node, `${table}${name}.`);
    const { meaning, usual } = described(node);
    return [`| \`${table}${name}\` | ${cell(typeOf(node))} | ${cell(usual)} | ${cell(meaning)} |`];
  });

/** A section for a table of the file, and for the tables in it. */
function section(table: string, { description, properties = {}, required = [] }: Node): string[] {
  const key = (name: string): string => (table === '' ? name : `${table}.${name}`);
  const rows: string[] = [];
  const below: string[] = [];
  for (const [name, node] of Object.entries(properties)) {
    if (table !== '' || node.type !== 'object')
      rows.push(`| ${row(key(name), name, node, required.includes(name))} |`);
    const named = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
    const inner = [node, ...(node.anyOf ?? [])].find((one) => one.properties !== undefined);
    if (inner !== undefined)
      below.push(...section(key(name), { ...inner, description: node.description ?? '' }));
    else if (named?.properties !== undefined) below.push(...section(`${key(name)}.NAME`, named));
  }
  const heading = table === '' ? '## At the top' : `## \`[${table}]\``;
  if (rows.length === 0) return below;
  return [
    `${heading}\n\n${table === '' ? '' : `${description ?? ''}\n\n`}<!-- prettier-ignore-start -->\n\n| key | type | default | what it is | example | \`updraft check\` |\n| --- | --- | --- | --- | --- | --- |\n${rows.join('\n')}\n\n<!-- prettier-ignore-end -->`,
    ...below,
  ];
}

/** How a matrix fills more than commands. */
const differingJobs = `## Jobs that differ

A matrix fills more than the command: \`{name}\` in \`[train]\`, \`[data.NAME]\`, \`[environment]\`, \`[resources]\` or \`run.requirements\` is replaced by each job's own value before the file is checked, so methods, sites and machines can be compared in one run. A value that is nothing but a placeholder keeps its type: \`cpus = "{cpus}"\` is a number. In commands, variables, tables and names, numbers are as you wrote them: \`1.0\`, \`1e-05\`.

\`\`\`toml
name = "methods"

[train]
command = "python3 train.py --seed {seed}"
files = ["train.py"]
outputs = ["model.pt"]

[data.train]
url = "osdf:///ospool/uc-shared/public/cifar10.tar.gz"
method = "{method}"

[resources]
memory = "{memory} GB"

[run]
pool = "condor"
matrix = { method = ["osdf", "stream"], memory = [4, 8] }
repeat = 5
\`\`\`

Parameters that belong together are a list of tables. Each of their keys is a parameter of its own, with a column of its own in \`updraft results\`, and the entries are combined with the other parameters:

\`\`\`toml
[data.train]
url = "{url}"
method = "{method}"
keep = "{keep}"

[run.matrix]
lr = [0.1, 0.01]
way = [
  { method = "https", url = "https://example.org/cifar10.tar.gz", keep = "" },
  { method = "on-demand", url = "osdf:///my-project/cifar10-{0000..0099}.tar", keep = "2 GB" },
]
\`\`\`

- Every entry has the same keys, and no entry appears twice. \`""\` leaves out the key of the job file that it fills by itself: \`keep\` only applies to \`on-demand\`.
- A name may have dots and hyphens, as for Hydra: \`"optim.lr" = [0.1, 0.01]\`, in quotes, and \`optim.lr={optim.lr}\` in the command. Its variable is \`UPDRAFT_PARAM_OPTIM_LR\`.
- \`job\`, \`index\`, \`outcome\`, \`hours\` and \`tries\` are reserved, because every job has its own, and so is \`seed\` with \`repeat\`.
- \`[[run.matrix.way]]\` is the same with a table for each entry.
- \`plan\`, \`check\` and \`compare\` name combinations by the fewest parameters that distinguish them, short values first: \`method=https lr=0.1\`.
- \`repeat = 5\` gives every combination five jobs, with the seeds 1 to 5. With or without it, combinations take turns: each job has the next value of every parameter, so every prefix of the queue has each value about equally often.
- \`updraft plan\` shows how the jobs differ; \`updraft check\` checks each kind, up to 20 of them.
- Not filled: \`name\`, \`train.files\`, \`train.secrets\`, \`[recovery]\`, \`[pool]\` and the rest of \`[run]\`, which a run has once.
- On HTCondor either all jobs have an \`image\`, of one kind (\`.sif\` files, a registry's, or folders), or none has: it starts all jobs of a submission in the same way.
- On Slurm a run is one array with one request: there, jobs may differ in commands and data only.
- \`{{name}}\` is the text \`{name}\`.`;

/** The page. */
export const jobFilePage = (): string => `# The job file

Every key of \`updraft.toml\` (or \`updraft.yaml\`, with the same keys). \`updraft init\` writes a commented one; \`updraft plan\` shows what it means; \`updraft check\` finds what is wrong in it. On the command line, \`--set KEY=VALUE\` and \`--with FILE\` override values.

- A **size** is a number with a unit: \`"16 GB"\`, \`"512 MiB"\`. A **duration** is one like \`"90s"\`, \`"1h30m"\` or \`"2d"\`.
- NAME stands for a name of your choice: \`[data.train]\`, \`[data.labels]\`.
- Files and folders that are sent stand in the folder of the job file or below it.
- The last column shows what \`updraft check\` accepts, and the [rules](check.md#the-rules) by which it then examines the value. A key that does not exist is an error, with the nearest one that does.
- Editors complete and check the file with \`schema/updraft.schema.json\`: put \`#:schema PATH\` in its first line.

\`\`\`toml
name = "cifar10"

[train]
command = "python3 train.py --epochs 5 --lr {lr}"
files = ["train.py"]
outputs = ["model.pt"]
checkpoint = "checkpoints"

[data.train]
url = "osdf:///ospool/uc-shared/public/cifar10.tar.gz"

[resources]
gpus = 1
memory = "8 GB"
time = "4h"

[run]
pool = "condor"
matrix = { lr = [0.1, 0.01] }
\`\`\`

${differingJobs}

${section('', fileJsonSchema()).join('\n\n')}
`;
