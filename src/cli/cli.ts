import type { Command } from 'commander';
import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import type { Terminal } from './text/terminal.ts';

/** The world as a command sees it: handed in by `main.ts`, and by tests. */
export interface Cli {
  env: Env;
  cwd: string;
  clock: Clock;
  version: string;
  /**
   * Data goes to stdout, talk goes to stderr; callers end their lines. Controls and marks that could drive or deceive a
   * terminal do not get through, wherever the text came from.
   */
  out(text: string): void;
  err(text: string): void;
  /** The same for screens, which move the cursor themselves, and for logs as they are: callers make names safe. */
  rawOut?(text: string): void;
  rawErr?(text: string): void;
  /** Writes bytes to stdout; they are the caller's again when it resolves, which is when the reader keeps up. */
  outBytes(bytes: Buffer): Promise<void>;
  outIsTerminal: boolean;
  errIsTerminal: boolean;
  /** Keys and size, for live views; undefined where stdout is no terminal. */
  terminal?: Terminal | undefined;
  columns: number;
  rows: number;
  color: boolean;
  /** Aborts on SIGINT or SIGTERM. */
  signal: AbortSignal;
  /** Asks on a terminal; undefined when nobody can answer. */
  ask: ((question: string) => Promise<string>) | undefined;
  /** How to start this program again: executable and leading arguments. */
  self: string[];
  /** The whole program, every command loaded. */
  program(): Promise<Command>;
  uid: number;
  pid: number;
  /** Sends a signal to a process; one that is gone already is no error. */
  kill(pid: number, signal: NodeJS.Signals): void;
}

export const drawOut = (cli: Cli, text: string): void =>
  cli.rawOut === undefined ? cli.out(text) : cli.rawOut(text);

export const drawErr = (cli: Cli, text: string): void =>
  cli.rawErr === undefined ? cli.err(text) : cli.rawErr(text);
