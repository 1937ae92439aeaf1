import type { RunState } from '../journal/state.ts';
import type { LogPart } from './page-data.ts';

/** A run that the dashboard shows, wherever its folder is. */
export interface RunSource {
  /** Where the folder is, as a person would say. */
  readonly place: string;
  /** A folder with the run's journals on this machine: its own, or a copy that is kept up. */
  readonly folder: string;
  /** The states of the run from now until it ends. */
  follow(signal: AbortSignal): AsyncIterable<RunState>;
  /** The end of a file of the run, by its path in the folder. */
  readEnd(file: string, mostBytes: number): Promise<LogPart>;
  /** How a command line names the run, quoted for a shell. */
  readonly argument: string;
  /** Stops jobs (all for none named); undefined where that has to be done on another machine. */
  stop?: ((jobs: string[]) => Promise<void>) | undefined;
}

/** The command that stops the jobs, as a person would type it. */
export const stopCommand = ({ argument }: RunSource, jobs: readonly string[] = []): string =>
  ['updraft stop', argument, ...jobs].join(' ');
