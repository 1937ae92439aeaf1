import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import { shellQuote } from '../base/shell-quote.ts';
import { asFault, Fault } from '../fault/fault.ts';
import type { RunState } from '../journal/state.ts';
import { RemoteMirror } from './remote-mirror.ts';
import { RemoteShell } from './remote-shell.ts';
import type { RunSource } from './run-source.ts';

/** How often the other machine is asked: an access point is shared, and a training does not change in a second. */
const lookMillis = 5000;
/** The longest wait before a lost connection is tried again. */
const mostMillis = 60_000;

export interface RemoteOptions {
  env: Env;
  clock: Clock;
  /** Reads the states of a run in a folder of this machine, whatever its pool. */
  follow: (folder: string, signal: AbortSignal) => AsyncIterable<RunState>;
  /** Files that pools read beside the journals, as `find -path` takes them. */
  patterns: readonly string[];
  /** Where the pool keeps over there what a job prints, if that is not with its attempts; `folder` is the copy's. */
  printedFile: (folder: string, job: string, stream: 'out' | 'err') => Promise<string | undefined>;
}

export interface RemoteRun extends RunSource, AsyncDisposable {}

/** A run in a folder of another machine (`HOST:FOLDER`), read over the user's `ssh`; nothing is left over there. */
export async function openRemoteRun(address: string, options: RemoteOptions): Promise<RemoteRun> {
  const [, host = '', remote = ''] = /^([^:]+):(.+)$/s.exec(address) ?? [];
  if (host === '')
    throw new Fault('usage', `"${address}" does not say where the run is`, {
      about: address,
      fix: 'say HOST:FOLDER, such as ap40.uw.osg-htc.org:imagenet/runs/resnet50-a1b2c3',
    });
  const shell = new RemoteShell(host, options.env);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-mirror-'));
  const done = new AbortController();
  const close = async () => {
    done.abort();
    await shell[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  };
  const mirror = new RemoteMirror(shell, remote, folder, options.patterns);
  try {
    await mirror.update();
  } catch (error) {
    await close();
    throw error;
  }
  const upkeep = new Upkeep(mirror, options.clock, done.signal);
  return {
    place: address,
    folder,
    argument: shellQuote(remote),
    readEnd: (file, mostBytes) => mirror.readEnd(file, mostBytes),
    printedFile: (job, stream) => options.printedFile(folder, job, stream),
    async *follow(signal) {
      const broken = upkeep.untilTrouble();
      yield* options.follow(folder, AbortSignal.any([signal, broken]));
    },
    async [Symbol.asyncDispose]() {
      await close();
      await upkeep.ended;
    },
  };
}

/** Keeps the copy up to date for as long as it may, through lost connections; each time it waits longer to try again. */
class Upkeep {
  readonly ended: Promise<void>;
  #trouble: Fault | undefined;
  #broken = new AbortController();

  constructor(mirror: RemoteMirror, clock: Clock, signal: AbortSignal) {
    this.ended = this.#keepUp(mirror, clock, signal);
  }

  /** Aborts when the copy cannot be kept up, at once where that is so now. */
  untilTrouble(): AbortSignal {
    if (this.#trouble !== undefined) return AbortSignal.abort(this.#trouble);
    return this.#broken.signal;
  }

  async #keepUp(mirror: RemoteMirror, clock: Clock, signal: AbortSignal): Promise<void> {
    for (let failures = 0; ;) {
      const wait = Math.min(mostMillis, lookMillis * 2 ** failures);
      const isOver = await clock.sleep(wait, signal).then(
        () => false,
        () => true,
      );
      if (isOver) return;
      try {
        await mirror.update();
        if (failures > 0) this.#broken = new AbortController();
        this.#trouble = undefined;
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#trouble = again(asFault(error));
        this.#broken.abort(this.#trouble);
      }
    }
  }
}

const again = ({ kind, message, fix }: Fault): Fault =>
  new Fault(kind, `${message}; it is tried again by itself`, fix === undefined ? {} : { fix });
