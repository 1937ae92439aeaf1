import path from 'node:path';

/** Every file and folder name that both towers use. Nobody else spells them. */
export const jobFileNames = ['updraft.toml', 'updraft.yaml', 'updraft.yml'] as const;
export const runsFolder = 'runs';

export const runFiles = {
  plan: 'plan.json',
  journal: 'journal.jsonl',
  /** Copies of `train.files`, so that editing them later does not change a run. */
  files: 'files',
  jobs: 'jobs',
  results: 'results',
  /** A folder for each time that jobs were handed to the pool again: the plan by then, and what it rendered. */
  rounds: 'rounds',
  /** Folder with the lease of the process that supervises the run on the local pool. */
  supervisor: 'supervisor',
  supervisorLog: 'supervisor.log',
  /** Small files that the attempts of the run share while they run, in the folders of `noteFolders`. */
  notes: 'notes',
} as const;

export const attemptFiles = {
  order: 'order.json',
  journal: 'agent.jsonl',
  /** Made exclusively by whoever decides the attempt's fate: the agent that runs it, or the pool that voids it. */
  claim: 'claim',
  out: 'out.log',
  err: 'err.log',
  /** What the agent itself had to say outside its journal. */
  log: 'agent.log',
} as const;

/** Folders of shared notes. */
export const noteFolders = {
  /** With a dash and a hash of the job's parameters: how the first epoch went, by `<job>-<attempt>`. */
  norms: 'norms',
  /** Attempts that left their machine for being slow, by `<job>-<attempt>`. */
  slow: 'slow',
  /** Objects that were missing everywhere, and when somebody may look again. */
  brakes: 'brakes',
  /** Jobs that failed for good, where the run is given up after a number of them. */
  failed: 'failed',
} as const;

/** Marks a line that an agent wrote into the job's event log while it ran. */
export const liveMark = 'updraft ';

/** What lies in a scheduler's sandbox beside `files`, `jobs` and `results`, which it has like a run's folder. */
export const sandboxFiles = {
  /** The checkpoints of earlier attempts, as the access point has them; `jobs/<job>` holds some under this name too. */
  checkpoint: 'checkpoint',
  /** The training's secrets, until the agent has read them. */
  secrets: 'secrets.json',
  /** What our plugin did before the agent began, in the words of the agent's journal, of which it becomes the beginning. */
  transfers: '.updraft-transfers.jsonl',
} as const;

export const jobId = (index: number): string => String(index).padStart(4, '0');

export const attemptFolder = (runFolder: string, job: string, attempt: number): string =>
  path.join(runFolder, runFiles.jobs, job, `attempt-${attempt}`);

export const roundFolder = (runFolder: string, round: number): string =>
  path.join(runFolder, runFiles.rounds, String(round));

export const resultsFolder = (runFolder: string, job: string): string =>
  path.join(runFolder, runFiles.results, job);

/** A URL as it stands in a submit description, where lists are split at commas and blanks. */
export const submittedUrl = (url: string): string => url.replaceAll(',', '%2C').replaceAll(' ', '%20');

/** The name under which HTCondor stores what it fetched: the last part of the path, without the query. */
export function deliveredName(url: string): string {
  const plain = submittedUrl(url).replace(/[?#].*$/, '');
  return plain.slice(plain.lastIndexOf('/') + 1);
}
