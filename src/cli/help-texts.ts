import type { CommandHelp } from './command-help.ts';
import { miniHelpTexts } from './mini/help-texts.ts';
import { runsHelpTexts } from './runs-help-texts.ts';

/** The commands by heading, in the order of the help page. */
export const groups = {
  'Before a run:': ['init', 'check', 'plan', 'rehearse'],
  'Runs:': ['submit', 'run', 'status', 'watch', 'logs', 'why', 'retry', 'stop', 'shell', 'runs'],
  'What came out, and where the time went:': ['results', 'compare', 'report', 'bundle', 'dashboard'],
  'Your HTCondor submit files:': ['adopt'],
  'Data and software:': ['get', 'put', 'warm', 'ls', 'stat', 'cat', 'rm', 'login', 'stage', 'env'],
  'This machine:': ['doctor', 'demo', 'mini', 'docs', 'licenses', 'completion'],
} as const;

export type CommandName = (typeof groups)[keyof typeof groups][number];

/** The help of each command and subcommand, besides its arguments and options. */
export const helpTexts: Readonly<Record<string, CommandHelp>> = {
  '': {
    what: 'train PyTorch models on high-throughput pools and lose none of it',
    examples: [
      ['updraft init train.py', 'write a job file for a script'],
      ['updraft check', 'find what would fail'],
      ['updraft run', 'queue the jobs and watch them'],
    ],
  },
  init: {
    what: 'write a job file for a training script, or from a template',
    page: 'job-file.md',
    examples: [
      ['updraft init train.py', 'read a training script, write updraft.toml for it'],
      ['updraft init train.py --pool condor', 'for an HTCondor pool'],
      ['updraft init --template cifar10 my-experiment', 'CIFAR-10, in its own folder'],
    ],
  },
  check: {
    what: 'find what would fail, before anything is queued',
    page: 'check.md',
    examples: [
      ['updraft check', 'the job file in this folder'],
      ['updraft check train.sub', 'an HTCondor submit file and its script'],
    ],
  },
  plan: {
    what: 'show what would be sent and run, and why',
    page: 'job-file.md',
    examples: [
      ['updraft plan', 'jobs, files, data, disk, success rule'],
      ['updraft plan experiments/resnet --json', 'every job, for a program'],
    ],
  },
  rehearse: {
    what: 'run one job, evict it twice, and check that nothing is lost',
    page: 'checkpoints.md',
    examples: [
      ['updraft rehearse', 'one job of the job file here'],
      ['updraft rehearse --pool local --set resources.gpus=0', 'on this machine, without a GPU'],
    ],
  },
  submit: {
    what: 'queue the jobs and return',
    page: 'run-folder.md',
    examples: [
      ['updraft submit examples/cifar10', 'the same command later resumes the run'],
      ['updraft submit --canary 1,10', 'one job, then ten, then the rest'],
    ],
  },
  run: {
    what: 'queue the jobs and watch them',
    page: 'run-folder.md',
    examples: [
      ['updraft run examples/cifar10', 'Ctrl-C leaves the view, not the run'],
      ['updraft run --pool condor --set run.jobs=2', 'two jobs on HTCondor'],
    ],
  },
  status: {
    what: 'show the state of each job',
    page: 'run-folder.md',
    examples: [
      ['updraft status', 'the latest run'],
      ['updraft status cifar10 --json | jq .tally', 'counts of the latest run called cifar10'],
    ],
  },
  ...runsHelpTexts,
  watch: {
    what: 'watch a run live until it ends',
    page: 'progress.md',
    examples: [
      ['updraft watch', 'the latest run; q leaves the view'],
      ['updraft watch cifar10 --json', 'a line of JSON for each change'],
    ],
  },
  logs: {
    what: 'show what a job printed',
    page: 'run-folder.md',
    examples: [
      ['updraft logs cifar10 3 -f', 'job 0003, as it prints'],
      ['updraft logs 0003 --err', 'stderr of a job of the latest run'],
    ],
  },
  why: {
    what: "explain a job's current state, with the evidence",
    page: 'why.md',
    examples: [
      ['updraft why cifar10 3', 'job 0003 of the latest run called cifar10'],
      ['updraft why my.log 12.3', 'a job of any HTCondor event log'],
    ],
  },
  retry: {
    what: 'retry the jobs without a valid result, in the same run',
    page: 'retry.md',
    examples: [
      ['updraft retry --dry-run', 'what would run again, and what must change'],
      ['updraft retry cifar10 3 7 --memory "8 GB"', 'two jobs, with more memory'],
    ],
  },
  stop: {
    what: 'stop a run or some of its jobs',
    page: 'checkpoints.md',
    examples: [
      ['updraft stop', 'the latest run'],
      ['updraft stop cifar10 0003', 'one job of the latest run called cifar10'],
    ],
  },
  shell: {
    what: 'open a shell on a machine of the pool, as a job would get it',
    page: 'guides/interactive.md',
    examples: [
      ['updraft shell', 'with the files of the job file here'],
      ['updraft shell --set resources.gpus=1', 'on a machine with a GPU'],
    ],
  },
  results: {
    what: 'show parameters and metrics of every job',
    page: 'progress.md',
    examples: [
      ['updraft results --sort -accuracy --top 10', 'the ten best jobs of the latest run'],
      ['updraft results cifar10 --csv > results.csv', 'all of it, for a spreadsheet'],
    ],
  },
  compare: {
    what: 'compare methods, places or runs, and say whether they differ by more than noise',
    page: 'compare.md',
    examples: [
      ['updraft compare my.log --by site', 'time and cost of a valid result at each site'],
      ['updraft compare cifar10 --by run --latex', 'tables for a paper'],
    ],
  },
  report: {
    what: 'show where the time of a run went',
    page: 'report.md',
    examples: [
      ['updraft report', 'the latest run'],
      ['updraft report my.log --html report.html', 'any HTCondor event log, with charts'],
      ['updraft report my.log --by site', 'which site, owner, log, machine, GPU or parameter lost most'],
    ],
  },
  bundle: {
    what: 'pack a run or logs for support, without secrets and names',
    page: 'bundle.md',
    examples: [
      ['updraft bundle', 'the latest run: plan, journals, report, versions'],
      ['updraft bundle my.log job.sub -o for-support.tar.gz', 'event logs and submit files'],
      [
        'updraft bundle my.log --with-log job.err',
        'with the end of what a program printed, which you see first',
      ],
    ],
  },
  dashboard: {
    what: 'show runs live in a browser, or as one file',
    page: 'dashboard.md',
    examples: [
      ['updraft dashboard', 'the latest run'],
      ['updraft dashboard cifar10 --static cifar10.html', 'a file to keep or send'],
    ],
  },
  adopt: {
    what: 'check an HTCondor submit file or DAG; submit and watch a file unchanged',
    page: 'coming-from-a-submit-file.md',
    examples: [
      ['updraft adopt train.sub --pool ospool', 'check it by the rules of the OSPool'],
      ['updraft adopt train.sub --submit', 'submit it, with a run folder'],
    ],
  },
  get: {
    what: 'download and verify objects of a federation',
    page: 'objects.md',
    examples: [
      ['updraft get osdf:///demo/a.tar osdf:///demo/b.tar data/', 'two objects, into data/'],
      ['updraft get --unpack osdf:///demo/set.tar.gz --into data', 'unpack while it arrives'],
    ],
  },
  put: {
    what: 'upload files as objects',
    page: 'objects.md',
    examples: [
      ['updraft put model.pt osdf:///inbox/me/model.pt', 'one file'],
      ['updraft put --recursive results osdf:///inbox/me/results', 'a folder'],
    ],
  },
  warm: {
    what: 'fill caches with objects before many jobs ask for them',
    page: 'caches.md',
    examples: [
      ['updraft warm', 'the data of the job file here'],
      ['updraft warm --dry-run osdf:///demo/train.tar', 'which caches have it, and the cost'],
    ],
  },
  ls: {
    what: 'list a folder of a federation',
    page: 'objects.md',
    examples: [
      ['updraft ls osdf:///demo', 'names only'],
      ['updraft ls -l --recursive osdf:///demo/images', 'sizes and times, with subfolders'],
    ],
  },
  stat: {
    what: 'show size, time, digests and servers of an object',
    page: 'objects.md',
    examples: [
      ['updraft stat osdf:///demo/train.tar', 'size, time, and the servers that have it'],
      ['updraft stat --digest --json osdf:///demo/train.tar', 'with its digests, as JSON'],
    ],
  },
  cat: {
    what: 'write objects to stdout, one after the other',
    page: 'objects.md',
    examples: [
      ['updraft cat osdf:///demo/labels.csv | head', 'the first lines'],
      ['updraft cat --staged osdf:///demo/a-1a2b3c4d.tar | tar t', 'verified chunk by chunk'],
    ],
  },
  rm: {
    what: 'delete objects at their origin',
    page: 'objects.md',
    examples: [
      ['updraft rm osdf:///inbox/me/model.pt', 'one object'],
      ['updraft rm --recursive --dry-run osdf:///inbox/me/old', 'what deleting a folder removes'],
    ],
  },
  login: {
    what: 'log in to a namespace that needs a token',
    page: 'login.md',
    examples: [
      ['updraft login osdf:///chtc/staging/me', 'for reading'],
      ['updraft login --write osdf:///inbox/me', 'for uploads too'],
    ],
  },
  stage: {
    what: 'upload a data set as verifiable, cache-friendly objects',
    page: 'objects.md',
    examples: [
      ['updraft stage train osdf:///inbox/me/imagenet --dry-run', 'what would be made'],
      ['updraft stage train osdf:///inbox/me/imagenet >> updraft.toml', 'upload it, add it to the job file'],
    ],
  },
  env: {
    what: 'inspect, pack and upload the software of a job (Pixi)',
    page: 'environments.md',
    examples: [
      ['updraft env show', 'packages, size and needs'],
      ['updraft env pack -e gpu', 'an archive for the workers'],
    ],
  },
  'env make': {
    what: 'make a pack or image from requirements.txt, environment.yml or pyproject.toml',
    page: 'environments.md',
    examples: [
      ['updraft env make requirements.txt -e gpu', 'a pack, with the CUDA build of PyTorch'],
      ['updraft env make --image', 'an image of what is here, or of the active environment'],
    ],
  },
  'env show': {
    what: 'show what an environment contains and needs',
    page: 'environments.md',
    examples: [
      ['updraft env show -e gpu', 'one environment of the workspace here'],
      ['updraft env show environment-1a2b3c4d.sh', 'an archive made by pixi-pack'],
    ],
  },
  'env lock': {
    what: 'update the lock file of a workspace, or check it',
    page: 'environments.md',
    examples: [
      ['updraft env lock', 'update pixi.lock'],
      ['updraft env lock --check', 'compare it with the manifest'],
    ],
  },
  'env pack': {
    what: 'pack an environment for workers without Pixi or containers',
    page: 'guides/pixi-pack.md',
    examples: [
      ['updraft env pack -e gpu', 'a self-extracting script'],
      ['updraft env pack -e gpu --tar', 'a tar for pixi-unpack'],
    ],
  },
  'env image': {
    what: 'write the recipe of an image with an environment, and build it',
    page: 'guides/pixi-container.md',
    examples: [
      ['updraft env image -e gpu > apptainer.def', 'print the recipe'],
      ['updraft env image -e gpu --build', 'build the image with Apptainer'],
    ],
  },
  'env stage': {
    what: 'upload an archive or image under a name with its hash',
    page: 'environments.md',
    examples: [
      ['updraft env stage gpu-1a2b3c4d.sh osdf:///inbox/me/environments', 'an archive made by pixi-pack'],
      ['updraft env stage gpu.sif osdf:///inbox/me/images', 'an Apptainer image'],
    ],
  },
  'env agent': {
    what: 'upload the agent, so that workers fetch it through caches',
    page: 'agent.md',
    examples: [
      ['updraft env agent osdf:///inbox/me/agents', 'prints the line for the job file'],
      ['updraft env agent --arch arm64 osdf:///inbox/me/agents', 'for ARM machines'],
    ],
  },
  doctor: {
    what: 'check that this machine has what runs need',
    examples: [
      ['updraft doctor', 'agent, PyTorch, HTCondor, OSDF, token …'],
      ['updraft doctor --json', 'the same for a program'],
    ],
  },
  demo: {
    what: 'train CIFAR-10 end to end on this machine',
    examples: [
      ['updraft demo', 'in the new folder updraft-demo'],
      ['cd updraft-demo && updraft report', 'where its time went'],
    ],
  },
  ...miniHelpTexts,
  docs: {
    what: 'print a page of the documentation',
    examples: [
      ['updraft docs', 'the list of pages'],
      ['updraft docs checkpoints', 'how a training resumes'],
      ['updraft docs commands#plan', 'one section'],
    ],
  },
  licenses: {
    what: 'print the licences of what Updraft is made of',
    examples: [
      ['updraft licenses', 'Bun, its libraries, the npm packages'],
      ['updraft licenses > LICENSES.txt', 'to hand on with a copy of the program'],
    ],
  },
  completion: {
    what: 'print the completion script for your shell',
    examples: [
      ['eval "$(updraft completion bash)"', 'in ~/.bashrc; zsh: ~/.zshrc'],
      ['updraft completion fish | source', 'in ~/.config/fish/config.fish'],
    ],
  },
};
