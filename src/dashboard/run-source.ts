import { open } from 'node:fs/promises';
import type { Explanation } from '../diagnosis/explanation.ts';
import type { JobState, RunState } from '../journal/state.ts';
import type { Action, LogPart } from './page-data.ts';

/** A run that the dashboard shows, wherever its folder is. */
export interface RunSource {
  /** Where the folder is, as a person would say. */
  readonly place: string;
  /** A folder with the run's journals on this machine: its own, or a copy that is kept up. */
  readonly folder: string;
  /** The states of the run from now until it ends. */
  follow(signal: AbortSignal): AsyncIterable<RunState>;
  /** Why jobs of the run stand as they do, from all that is in its folder. */
  explain?: ((state: RunState, jobs: readonly JobState[]) => Promise<Explanation[]>) | undefined;
  /** The end of a file of the run, by its path in the folder. */
  readEnd(file: string, maxBytes: number): Promise<LogPart>;
  /** Where the pool keeps what a job prints, if that is not with its attempts. */
  outputFile?: ((job: string, stream: 'out' | 'err') => Promise<string | undefined>) | undefined;
  /** How a command line names the run, quoted for a shell. */
  readonly argument: string;
  /** Stops jobs (all for none named); undefined where that has to be done on another machine. */
  stop?: ((jobs: string[]) => Promise<void>) | undefined;
  /** Tries jobs again (all without a valid result for none named); undefined as for `stop`. */
  retry?: ((jobs: string[]) => Promise<void>) | undefined;
  /** Made by `updraft adopt`: its jobs are its owner's to submit again. */
  isAdopted?: boolean;
}

/** What the button for an action on these jobs needs; all that are meant for none named. */
export const actionOn = (
  source: RunSource,
  action: 'stop' | 'retry',
  jobs: readonly string[] = [],
): Action => ({
  command: ['updraft', action, source.argument, ...jobs].join(' '),
  here: source[action] !== undefined,
});

/** Whether a job has ended without a valid result, so that it can be tried again. */
export const canRetry = ({ isAdopted }: RunSource, { status, outcome }: JobState): boolean =>
  isAdopted !== true && status === 'ended' && outcome !== 'success';

/** The last bytes of a file as text; an absent file is empty. A character that is cut in half is left out. */
export async function readEnd(path: string, maxBytes: number): Promise<LogPart> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return { text: '', size: 0, from: 0 };
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - maxBytes);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    return logPart(buffer.subarray(0, bytesRead), size);
  } finally {
    await file.close();
  }
}

/** The end of a file of `size` bytes. */
export function logPart(bytes: Buffer, size: number): LogPart {
  let start = 0;
  const isCut = bytes.length < size;
  while (isCut && start < Math.min(4, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return { text: bytes.toString('utf8', start), size, from: size - bytes.length + start };
}
