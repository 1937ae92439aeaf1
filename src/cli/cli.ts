import type { Command } from 'commander';
import type { Clock, Env } from '@updraft/base';
import type { Terminal } from './text/terminal.ts';

/** Everything outside a command: passed in by `main.ts` and by tests. */
export interface Cli {
  env: Env;
  cwd: string;
  clock: Clock;
  version: string;
  /** What a user types to start this program: `updraft`, or more where that is not on the PATH. */
  name: string;
  /**
   * Data goes to stdout, messages go to stderr; callers end their lines. Control characters and marks that could
   * drive or deceive a terminal are removed, wherever the text came from.
   */
  out(text: string): void;
  err(text: string): void;
  /** The same, unfiltered, for screens that move the cursor and for logs: callers sanitize names. */
  rawOut?(text: string): void;
  rawErr?(text: string): void;
  /** The bytes of stdin; can be read once. */
  stdin(): AsyncIterable<Uint8Array>;
  /** Writes bytes to stdout; the buffer may be reused once it resolves, so a slow reader slows the caller. */
  outBytes(bytes: Buffer): Promise<void>;
  outIsTerminal: boolean;
  errIsTerminal: boolean;
  /** Keys and size, for live views; undefined where stdout is not a terminal. */
  terminal?: Terminal | undefined;
  columns: number;
  rows: number;
  color: boolean;
  /** Aborts on SIGINT or SIGTERM. */
  signal: AbortSignal;
  /** Asks on a terminal; undefined where there is no terminal. */
  ask: ((question: string) => Promise<string>) | undefined;
  /** How to start this program again: executable and leading arguments. */
  self: string[];
  /** The program with every command loaded. */
  program(): Promise<Command>;
  uid: number;
  platform: NodeJS.Platform;
  pid: number;
  /** Sends a signal to a process; one that has already ended is not an error. */
  kill(pid: number, signal: NodeJS.Signals): void;
}

export const drawOut = (cli: Cli, text: string): void =>
  cli.rawOut === undefined ? cli.out(text) : cli.rawOut(text);

export const drawErr = (cli: Cli, text: string): void =>
  cli.rawErr === undefined ? cli.err(text) : cli.rawErr(text);
