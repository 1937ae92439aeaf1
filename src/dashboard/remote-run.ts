import { appendFile, mkdir, mkdtemp, rm, truncate } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import { succeeds } from '../base/error-reason.ts';
import { shellQuote } from '../base/shell-quote.ts';
import { asFault, Fault } from '../fault/fault.ts';
import { attemptFiles, runFiles } from '../job/layout.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import type { JobState, RunState } from '../journal/state.ts';
import type { LogPart } from './page-data.ts';
import { RemoteShell } from './remote-shell.ts';
import { logPart, type RunSource } from './run-source.ts';

/** An access point is shared, and a training changes slowly. */
const pollMs = 5000;
/** The longest wait before a lost connection is tried again. */
const maxPollMs = 60_000;

export interface RemoteOptions {
  env: Env;
  clock: Clock;
  /** Reads the states of a run in a local folder. */
  follow: (folder: string, signal: AbortSignal) => AsyncIterable<RunState>;
  /** Explains jobs of a run in a local folder. */
  explain?: (folder: string, state: RunState, jobs: readonly JobState[]) => Promise<Explanation[]>;
  /** Patterns for `find -path` of files that pools read in addition to the journals. */
  patterns: readonly string[];
  /** The remote file of a job's output, if it is not in the attempt's folder; `folder` is the local copy. */
  printedFile: (folder: string, job: string, stream: 'out' | 'err') => Promise<string | undefined>;
}

export interface RemoteRun extends RunSource, AsyncDisposable {}

/** A run on another machine (`HOST:FOLDER`), read over the user's `ssh`; nothing is written there. */
export async function openRemoteRun(address: string, options: RemoteOptions): Promise<RemoteRun> {
  const [, host = '', remote = ''] = /^([^:]+):(.+)$/s.exec(address) ?? [];
  if (host === '')
    throw new Fault('usage', `"${address}" is not HOST:FOLDER`, {
      about: address,
      fix: 'name the host and the folder of the run, such as ap40.uw.osg-htc.org:imagenet/runs/resnet50-a1b2c3',
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
  const { explain } = options;
  const loop = new MirrorLoop(mirror, options.clock, done.signal);
  return {
    place: address,
    folder,
    argument: shellQuote(remote),
    explain: explain && ((state, jobs) => explain(folder, state, jobs)),
    readEnd: (file, maxBytes) => mirror.readEnd(file, maxBytes),
    outputFile: (job, stream) => options.printedFile(folder, job, stream),
    async *follow(signal) {
      const broken = loop.untilTrouble();
      yield* options.follow(folder, AbortSignal.any([signal, broken]));
    },
    async [Symbol.asyncDispose]() {
      await close();
      await loop.ended;
    },
  };
}

/** Keeps the copy up to date, also after lost connections, with a growing wait between tries. */
class MirrorLoop {
  readonly ended: Promise<void>;
  #trouble: Fault | undefined;
  #broken = new AbortController();

  constructor(mirror: RemoteMirror, clock: Clock, signal: AbortSignal) {
    this.ended = this.#run(mirror, clock, signal);
  }

  /** Aborts when the copy cannot be updated; already aborted if that is the case now. */
  untilTrouble(): AbortSignal {
    if (this.#trouble !== undefined) return AbortSignal.abort(this.#trouble);
    return this.#broken.signal;
  }

  async #run(mirror: RemoteMirror, clock: Clock, signal: AbortSignal): Promise<void> {
    for (let failures = 0; ;) {
      const wait = Math.min(maxPollMs, pollMs * 2 ** failures);
      if (!(await succeeds(clock.sleep(wait, signal)))) return;
      try {
        await mirror.update();
        if (failures > 0) this.#broken = new AbortController();
        this.#trouble = undefined;
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#trouble = withRetryHint(asFault(error));
        this.#broken.abort(this.#trouble);
      }
    }
  }
}

const withRetryHint = ({ kind, message, fix }: Fault): Fault =>
  new Fault(kind, `${message}; Updraft keeps trying`, fix === undefined ? {} : { fix });

/** Bytes of one file per request. */
const chunkBytes = 4 << 20;

/** A local copy of the journals of a remote run; each update fetches only what is new. */
class RemoteMirror {
  readonly #shell: RemoteShell;
  readonly #remote: string;
  readonly #local: string;
  readonly #patterns: string[];
  readonly #sizes = new Map<string, number>();

  constructor(shell: RemoteShell, remote: string, local: string, patterns: readonly string[]) {
    this.#shell = shell;
    // Paths of ssh are relative to the home folder, so `~/` can go.
    this.#remote = remote.replace(/^~\//, '') || '.';
    this.#local = local;
    const journals = [runFiles.journal, runFiles.plan, `${runFiles.jobs}/*/*/${attemptFiles.journal}`];
    this.#patterns = [...journals, ...patterns];
  }

  /** Updates the copy; throws if the folder is not that of a run. */
  async update(): Promise<void> {
    const sizes = await this.#list();
    if (!sizes.has(runFiles.journal))
      throw new Fault('usage', `${this.#remote} on that machine is not the folder of a run`, {
        about: this.#remote,
        fix: 'name a folder that `updraft submit` or `updraft run` made, for example HOST:project/runs/NAME-ID',
      });
    // Agents' journals first, so that the run's journal is never ahead of them.
    const names = [...sizes.keys()].sort(
      (a, b) => Number(a === runFiles.journal) - Number(b === runFiles.journal),
    );
    for (const name of names) await this.#grow(name, sizes.get(name) ?? 0);
  }

  /** The end of a file of the run, or of any remote file by its absolute path. */
  async readEnd(file: string, maxBytes: number): Promise<LogPart> {
    const quoted = shellQuote(path.isAbsolute(file) ? file : `./${file}`);
    const lines = await this.#inFolder(
      `if [ -f ${quoted} ]; then wc -c < ${quoted}; tail -c ${maxBytes} ${quoted} | base64; fi`,
    );
    const bytes = Buffer.from(lines.slice(1).join(''), 'base64');
    return logPart(bytes, Math.max(bytes.length, Number(lines[0] ?? 0)));
  }

  async #list(): Promise<Map<string, number>> {
    const paths = this.#patterns.map((pattern) => `-path ${shellQuote(`./${pattern}`)}`).join(' -o ');
    const lines = await this.#inFolder(`find . -type f \\( ${paths} \\) -exec wc -c {} +`);
    const found = new Map<string, number>();
    for (const line of lines) {
      const [, size, name] = /^\s*(\d+) \.\/(.+)$/.exec(line) ?? [];
      if (name !== undefined && isBelow(name)) found.set(name, Number(size));
    }
    return found;
  }

  async #grow(name: string, size: number): Promise<void> {
    const copy = path.join(this.#local, name);
    let have = this.#sizes.get(name) ?? 0;
    if (size < have) {
      await truncate(copy, 0);
      have = 0;
    }
    if (!this.#sizes.has(name)) await mkdir(path.dirname(copy), { recursive: true });
    while (have < size || !this.#sizes.has(name)) {
      const want = Math.min(chunkBytes, size - have);
      const lines = await this.#inFolder(
        `tail -c +${have + 1} ${shellQuote(`./${name}`)} | head -c ${want} | base64`,
      );
      const bytes = Buffer.from(lines.join(''), 'base64');
      await appendFile(copy, bytes);
      have += bytes.length;
      this.#sizes.set(name, have);
      // The file was truncated meanwhile: the next update handles that.
      if (bytes.length < want) return;
    }
  }

  #inFolder(command: string): Promise<string[]> {
    return this.#shell.run(`(cd -- ${shellQuote(this.#remote)} && { ${command}; })`);
  }
}

/** File names from the other machine must not lead out of the copy. */
const isBelow = (name: string): boolean => !name.split('/').includes('..') && !path.isAbsolute(name);
