/**
 * The commands by heading, in the order of the help page, and what each does: the page needs this of commands that are
 * not loaded. The rest of a command's help stands beside its options.
 */
export const groups = {
  'Before a run:': {
    init: 'write a job file for a training script, or from a template',
    check: 'find what would fail, before anything is queued',
    plan: 'show what would be sent and run, and why',
    rehearse: 'run one job, evict it twice, and check that nothing is lost',
  },
  'Runs:': {
    submit: 'queue the jobs and return',
    run: 'queue the jobs and watch them',
    status: 'show the state of each job',
    watch: 'watch a run live until it ends',
    logs: 'show what a job printed',
    why: "explain a job's current state, with the evidence",
    retry: 'retry the jobs without a valid result, in the same run',
    stop: 'stop a run or some of its jobs',
    shell: 'open a shell on a machine of the pool, as a job would get it',
    runs: 'list the runs of this folder, the latest first',
  },
  'What came out, and where the time went:': {
    results: 'show parameters and metrics of every job',
    compare: 'compare methods, places or runs, and say whether they differ by more than noise',
    report: 'show where the time of a run went',
    bundle: 'pack a run or logs for support, without secrets and names',
    dashboard: 'show runs live in a browser, or as one file',
  },
  'Your HTCondor submit files:': {
    adopt: 'check an HTCondor submit file or DAG, or write a job file for it',
  },
  'Data and software:': {
    get: 'download and verify objects of a federation',
    put: 'upload files as objects',
    ls: 'list a folder of a federation',
    stat: 'show size, time, digests and servers of an object',
    cat: 'write objects to stdout, one after the other',
    rm: 'delete objects at their origin',
    login: 'log in to a namespace that needs a token',
    stage: 'upload a data set as verifiable, cache-friendly objects',
    env: 'inspect, pack and upload the software of a job (Pixi)',
  },
  'This machine:': {
    doctor: 'check that this machine has what runs need',
    demo: 'train CIFAR-10 end to end on this machine',
    mini: 'start a small federation or HTCondor pool on this machine',
    docs: 'print a page of the documentation',
    licenses: 'print the licences of what Updraft is made of',
    completion: 'print the completion script for your shell',
  },
} as const;

type Groups = typeof groups;
export type CommandName = { [Heading in keyof Groups]: keyof Groups[Heading] }[keyof Groups];
