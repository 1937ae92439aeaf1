import type { Clock, Env } from '@updraft/base';
import type { Fault } from '@updraft/account/fault';
import type { WorkOrder } from '../job/job.ts';
import type { Recorder } from './notes/journal-writer.ts';
import type { SharedNotes } from './notes/shared-notes.ts';
import type { Scratch } from './scratch.ts';
import type { Log, RankEnv, StartedRank } from './training/command-end.ts';

/** What main passes to the rest of the agent, which never touches the process itself. */
export interface Context {
  env: Env;
  clock: Clock;
  version: string;
  pid: number;
  uid: number;
  cwd: string;
  /** Aborts when the attempt must end early; its reason is a Fault that says why. */
  signal: AbortSignal;
  /** Aborts when the attempt is asked a second time to end: no more grace. */
  forceStop: AbortSignal;
  /** How long the training, and then saving its checkpoint, may each take after the attempt was asked to end. */
  graceMs: () => number;
  /** The folder in which the pool restarts the agent after it exits with the checkpoint code, if it does. */
  restartFolder?: string;
  /** Whether the pool removes the scratch folder: always, or only when it wants the slot back; undefined if never. */
  poolCleans?: 'always' | 'when-asked';
  /** Open files through which the pool shows the end of the training's logs while it runs; undefined if it does not. */
  liveLogs?: { out: number; err: number };
  /** Values that must not appear in the training's logs. */
  secrets?: readonly string[];
  /** Sends a signal to a process, or to a group if the id is negative; a process that is gone is not an error. */
  kill: (pid: number, signal: NodeJS.Signals) => void;
  /** The agents on the job's other nodes, if this is its first of several. */
  nodes?: {
    readonly address: string;
    start: (env: RankEnv, log: Log) => StartedRank[];
    ready: (context: Context) => Promise<void>;
    close: (context: Context) => Promise<void>;
  };
  /** The agent on the job's first node, if this is another one. */
  lead?: { fail: (fault: Fault) => void; serve: (attempt: Attempt) => Promise<void> };
}

/** One try at a job, as every phase sees it. */
export interface Attempt {
  order: WorkOrder;
  scratch: Scratch;
  context: Context;
  record: Recorder;
  /** Notes shared by all attempts of the run. */
  shared: SharedNotes;
  /** Data that comes as the training asks for it. */
  streams?: readonly DataStream[];
}

/** The attempt, also asked to end by this signal. */
export function until(attempt: Attempt, signal: AbortSignal): Attempt {
  const { context } = attempt;
  return { ...attempt, context: { ...context, signal: AbortSignal.any([context.signal, signal]) } };
}

/** What a training's wait for data shows of it. */
interface DataStream {
  /** The training can only wait for it. */
  readonly isAwaited: boolean;
  /** Seconds that the training has waited since its start; undefined while it has not said. */
  readonly waited: number | undefined;
  /** The training starts again. */
  restart(): void;
}
