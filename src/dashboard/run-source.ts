import { open } from 'node:fs/promises';
import type { Explanation } from '@updraft/account/why';
import type { JobState, RunState } from '@updraft/account/journal';
import type { Action, LogPart } from './page-data.ts';

/** A run on this machine. */
export interface RunSource {
  /** Where the folder is, for the reader. */
  readonly place: string;
  /** The run's folder. */
  readonly folder: string;
  /** The states of the run from now until it ends. */
  follow(signal: AbortSignal): AsyncIterable<RunState>;
  /** Explains jobs by everything in the run's folder. */
  explain?: ((state: RunState, jobs: readonly JobState[]) => Promise<Explanation[]>) | undefined;
  /** The run as a command-line argument, quoted for a shell. */
  readonly argument: string;
  /** Stops jobs; an empty list means all. */
  stop: (jobs: string[]) => Promise<void>;
  /** Retries jobs; an empty list means all without a valid result. */
  retry: (jobs: string[]) => Promise<void>;
}

export const actionOn = (
  source: RunSource,
  action: 'stop' | 'retry',
  jobs: readonly string[] = [],
): Action => ({
  command: ['updraft', action, source.argument, ...jobs].join(' '),
});

/** The last bytes of a file as text, without a character cut in half; a missing file is empty. */
export async function readEnd(path: string, maxBytes: number): Promise<LogPart> {
  await using file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return { text: '', size: 0, from: 0 };
  const { size } = await file.stat();
  const from = Math.max(0, size - maxBytes);
  const { bytesRead, buffer } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
  return logPart(buffer.subarray(0, bytesRead), size);
}

/** The end of a file of `size` bytes. */
function logPart(bytes: Buffer, size: number): LogPart {
  let start = 0;
  const isCut = bytes.length < size;
  while (isCut && start < Math.min(4, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return { text: bytes.toString('utf8', start), size, from: size - bytes.length + start };
}
