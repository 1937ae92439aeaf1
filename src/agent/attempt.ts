import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import type { WorkOrder } from '../job/job.ts';
import type { Recorder } from './notes/journal-writer.ts';
import type { SharedNotes } from './notes/shared-notes.ts';
import type { Scratch } from './scratch.ts';

/** What the agent's main hands to everything else, so that nothing else touches the process. */
export interface Context {
  env: Env;
  clock: Clock;
  version: string;
  pid: number;
  uid: number;
  cwd: string;
  /** Aborts when the attempt must end early; its reason is a Fault that says why. */
  signal: AbortSignal;
  /** Aborts when whoever asks us to end asks again: nobody is given time any more. */
  forceStop: AbortSignal;
  /** How long each work of value may still go on after the attempt was asked to end: a training that saves, then its saving. */
  graceMs: () => number;
  /** The folder in which the pool starts the agent again after it has left with the code of a checkpoint; undefined where it does not. */
  restartFolder?: string;
  /** Whether the pool removes the scratch folder itself: in any case, or when it wants the machine back; undefined where it does not. */
  poolCleans?: 'always' | 'when-asked';
  /** Open files in which the pool shows the ends of the training's logs while the attempt runs; undefined where it does not. */
  liveLogs?: { out: number; err: number };
  /** Texts that must not be seen in the training's logs. */
  secrets?: readonly string[];
  /** Sends a signal to a process, or to a group when the id is negative; one that is gone already is no error. */
  kill: (pid: number, signal: NodeJS.Signals) => void;
}

/** One try at a job, as every phase sees it. */
export interface Attempt {
  order: WorkOrder;
  scratch: Scratch;
  context: Context;
  record: Recorder;
  /** What the attempts of the run tell each other. */
  shared: SharedNotes;
}
