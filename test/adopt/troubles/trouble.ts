/** What becomes of a job; it is held with a code. */
export type Fate =
  | 'succeeds'
  | 'fails'
  | `fails ${number} times`
  | 'is refused'
  | 'cannot start'
  | `is held (${number})`
  | 'finds no machine'
  | 'runs again forever';

/** A job that a rule finds something in, and what becomes of it on a pool without and with the advised lines. */
export interface Trouble {
  rule: string;
  /** What the job does in its shell, without single quotes; `MEET` is a folder that workers and the test see. */
  does?: string;
  /** After those that every job has, and instead of them where the name is the same. */
  lines?: string[];
  /** Lines of every job that this one lacks. */
  lacks?: RegExp;
  queue?: string;
  /** Beside the submit file. */
  files?: Record<string, string | Uint8Array>;
  /** In the shell where it is submitted. */
  variables?: Record<string, string>;
  /** In no slot that another job has had, which may be larger than requested. */
  isAlone?: boolean;
  /** How often it is submitted. */
  times?: number;
  pool?: string;
  /** What the pool recommends at most as input of a job. */
  adviseBytes?: number;
  /** Lines that the advice says to remove. */
  without?: RegExp;
  /** Instead of all advised lines: those in this part of the advice, or another value that it names. */
  line?: RegExp | string | string[];
  /** Where following the advice is more than writing a line. */
  right?: (lines: string[], fix: string) => string[];
  /** Instead of its fate, what the user finds when the job has left the queue. */
  sees?: (ended: EndedJob) => Promise<string>;
  /** `depends`: only the other job is submitted. */
  before: string;
  /** Default: it succeeds. */
  after?: string;
}

export interface EndedJob {
  /** Where it was submitted. */
  folder: string;
  cluster: string;
  /** Runs one of HTCondor's tools. */
  tool: (name: string, ...args: string[]) => Promise<string>;
}

/** A trouble whose `before` and `after` are fates. */
export type Fateful = Omit<Trouble, 'sees' | 'before' | 'after'> & { before: Fate | 'depends'; after?: Fate };

/** For `does`: waits until all jobs that a pool should hold are held. */
export const untilOthersAreHeld = 'until [ -e MEET/go ]; do sleep 0.1; done';
