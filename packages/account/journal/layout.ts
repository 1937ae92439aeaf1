import path from 'node:path';

/** Every file and folder name that access point and agent share. They are spelled out nowhere else. */
export const jobFileName = 'updraft.toml';
export const jobFileNames = [jobFileName, 'updraft.yaml', 'updraft.yml'] as const;
export const runsFolder = 'runs';

export const runFiles = {
  plan: 'plan.json',
  journal: 'journal.jsonl',
  /** Copies of `train.files`, so that editing them later does not change a run. */
  files: 'files',
  /** Archives of the folders that the job file names as data. */
  data: 'data',
  jobs: 'jobs',
  results: 'results',
  /** A folder for each later round: its plan, and the files rendered from it. */
  rounds: 'rounds',
  /** Folder with the lease of the process that supervises the run on the local pool. */
  supervisor: 'supervisor',
  supervisorLog: 'supervisor.log',
  /** The counts of a run that has ended, so that listing many runs is cheap. */
  summary: 'summary.json',
  /** Shared notes of the run's attempts, in the folders of `noteFolders`. */
  notes: 'notes',
} as const;

export const attemptFiles = {
  order: 'order.json',
  journal: 'agent.jsonl',
  /** Created exclusively by the owner of the attempt: the agent that runs it, or the pool that voids it. */
  claim: 'claim',
  out: 'out.log',
  err: 'err.log',
  /** What the agent itself printed. */
  log: 'agent.log',
} as const;

/** Where results that do not fit into the run are kept: beside the scratch folders, one per job, whatever its id. */
export const keptFolder = (order: { scratchParent: string; run: string; job: { id: string } }): string =>
  path.join(path.dirname(order.scratchParent), `updraft-kept-${order.run}-${path.basename(order.job.id)}`);

/** Folders of shared notes. */
export const noteFolders = {
  /** With a dash and a hash of the job's parameters: times of the first epoch, by `<job>-<attempt>`. */
  norms: 'norms',
  /** Attempts that left a slow machine, by `<job>-<attempt>`. */
  slow: 'slow',
  /** Objects that were missing everywhere, and when to ask for them again. */
  brakes: 'brakes',
  /** Jobs that failed for good, if `failed_jobs` limits them. */
  failed: 'failed',
  /** With a dash and the number of a rung: what trials reported there, in the names of the notes. */
  rungs: 'rung',
  /** Trials that were stopped early, by their jobs. */
  stopped: 'stopped-early',
} as const;

/** Marks a line that an agent wrote into the job's event log while it ran. */
export const liveMark = 'updraft ';

/** Files of a scheduler's sandbox besides `files`, `jobs` and `results`, which it shares with a run's folder. */
export const sandboxFiles = {
  /** Checkpoints of earlier attempts, as the access point has them; `jobs/<job>` may have the same folder. */
  checkpoint: 'checkpoint',
  /** The training's secrets, until the agent has read them. */
  secrets: 'secrets.json',
  /** What our plugin did before the agent started, as entries with which the agent's journal begins. */
  transfers: '.updraft-transfers.jsonl',
} as const;

export const jobId = (index: number): string => String(index).padStart(4, '0');

export const attemptFolder = (runFolder: string, job: string, attempt: number): string =>
  path.join(runFolder, runFiles.jobs, job, `attempt-${attempt}`);

export const roundFolder = (runFolder: string, round: number): string =>
  path.join(runFolder, runFiles.rounds, String(round));

export const resultsFolder = (runFolder: string, job: string): string =>
  path.join(runFolder, runFiles.results, job);

/** A URL as written in a submit file, where lists are split at commas and blanks. */
export const submittedUrl = (url: string): string => url.replaceAll(',', '%2C').replaceAll(' ', '%20');

/** The name under which HTCondor stores what it fetched: the last part of the path, without the query. */
export function deliveredName(url: string): string {
  const plain = submittedUrl(url).replace(/[?#].*$/, '');
  return plain.slice(plain.lastIndexOf('/') + 1);
}

/** The SHA-256 in the name of an agent: packed, at a URL; or as it is, in an image. */
export const agentHash = (place: string): string | undefined =>
  /-([0-9a-f]{64})(?:\.gz|(?<=^image:.+))$/.exec(place)?.[1];
