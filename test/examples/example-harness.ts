import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { findPython } from '../../src/environment/find-python.ts';
import { readRunState } from '../../src/run/run-states.ts';
import type { RunState } from '@updraft/account/journal';
import { startFederation } from '@updraft/mini/federation';
import { scriptOf, shellBlocks } from '../docs/shell-blocks.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { poolCache, testPool } from '../pool.ts';
import { runNames } from '../run-names.ts';
import { ForkedPython, type RunningScript } from './forked-python.ts';
import { placeUpdraft } from '../programs.ts';

const root = path.resolve(import.meta.dirname, '../..');

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

const pythons = new Map<string, Promise<string | undefined>>();

/** By what is installed: importing PyTorch takes seconds. */
function pythonWith(modules: string[]): Promise<string | undefined> {
  const key = modules.join(' ');
  const check = async (): Promise<string | undefined> =>
    (await findPython(modules, process.env, { isQuick: true })).found;
  const python = pythons.get(key) ?? check();
  pythons.set(key, python);
  return python;
}

/** For all tests of a file. */
let forked: ForkedPython | undefined;
after(() => forked?.stop());

/** Fills a folder once for all tests of a file, of which each gets a copy; removed when they have ended. */
export function sharedFolder(fill: (harness: ExampleHarness) => Promise<string>) {
  const home = mkdtemp(path.join(os.tmpdir(), 'updraft-examples-'));
  after(async () => rm(await home, { recursive: true, force: true }));
  let made: Promise<string> | undefined;
  const make = async (harness: ExampleHarness): Promise<string> => {
    const folder = path.join(await home, 'data');
    await rename(await fill(harness), folder);
    return folder;
  };
  return async (harness: ExampleHarness, name: string): Promise<string> => {
    const copy = path.join(harness.folder, name);
    await cp(await (made ??= make(harness)), copy, { recursive: true });
    return copy;
  };
}

/** A copy of an example's folder, or of all of them, with `updraft` on the PATH, to run it or the commands of a page. */
export class ExampleHarness {
  /** The copy of the example's folder. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;

  readonly #t: TestContext;

  private constructor(t: TestContext, folder: string, env: NodeJS.ProcessEnv) {
    this.#t = t;
    this.folder = folder;
    this.env = env;
  }

  /** Undefined, and the test skipped, if no Python has the modules. Without a name, copies the folder of all examples. */
  static async open(
    t: TestContext,
    name: string | undefined,
    modules: string[],
  ): Promise<ExampleHarness | undefined> {
    const found = await pythonWith(modules);
    if (found === undefined) {
      t.skip(`no Python on this machine has ${modules.join(', ')}`);
      return undefined;
    }
    const home = await temporaryFolder(t);
    const copied = path.join('examples', name ?? '');
    await cp(path.join(root, copied), path.join(home, copied), { recursive: true });
    await placeUpdraft(path.join(home, 'bin'));
    await symlink(found, path.join(home, 'bin', 'python3'));
    const env = {
      ...process.env,
      HOME: home,
      XDG_CACHE_HOME: poolCache,
      XDG_STATE_HOME: path.join(home, 'state'),
      PATH: `${path.join(home, 'bin')}:${process.env['PATH'] ?? ''}`,
      // The machine is shared with other tests: threads that spin while they wait for each other slow down everything.
      OMP_NUM_THREADS: '1',
    };
    if (modules.includes('torch')) forked ??= new ForkedPython(found, modules, env);
    return new ExampleHarness(t, name === undefined ? home : path.join(home, copied), env);
  }

  /** Makes the example's synthetic data, and serves the folder `published`, which takes uploads, for all later commands. */
  async publish(prefix: string, ...size: string[]): Promise<void> {
    const made = await this.run('make_data.py', ...size);
    assert.equal(made.code, 0, made.err);
    const folder = path.join(this.folder, 'published');
    await mkdir(folder, { recursive: true });
    const namespaces = [{ prefix, folder, public: true, writable: true }];
    const federation = await startFederation({ namespaces });
    this.#t.after(() => federation[Symbol.asyncDispose]());
    this.env['BEARER_TOKEN'] = federation.issueToken({ namespace: prefix });
    this.env['UPDRAFT_OSDF_HOST'] = federation.discoveryHost;
    this.env['SSL_CERT_FILE'] = federation.caFile;
  }

  /** Runs one of the example's scripts. */
  async run(script: string, ...args: string[]): Promise<Ended> {
    return await this.start(script, ...args).ended;
  }

  /** Starts one of the example's scripts; `until` waits for a word in its output. */
  start(script: string, ...args: string[]) {
    if (forked === undefined) return this.#spawn('python3', ['-u', script, ...args]);
    return this.#follow(forked.start({ args: [script, ...args], folder: this.folder, env: this.env }));
  }

  #spawn(program: string, args: string[]) {
    const child = spawn(program, args, { cwd: this.folder, env: this.env });
    const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
    const { stdout, stderr } = child;
    return this.#follow({ stdout, stderr, closed, kill: (signal) => void child.kill(signal) });
  }

  #follow(script: RunningScript) {
    this.#t.after(() => script.kill('SIGKILL'));
    let [out, err] = ['', ''];
    script.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    script.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    const ended = script.closed.then((code): Ended => ({ code, out, err }));
    const until = (word: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (out.includes(word)) resolve();
        };
        script.stdout.on('data', check);
        check();
        void ended.then(() => reject(new Error(`it ended before "${word}": ${out}${err}`)));
      });
    return { kill: script.kill, ended, until };
  }

  /**
   * Runs the commands of a page, as far as possible without other programs; without HTCondor, its commands are only
   * planned, and the test counts as skipped.
   */
  async followPage(page: string): Promise<Ended> {
    const blocks = shellBlocks(await readFile(path.join(root, page), 'utf8'));
    assert.ok(blocks.length > 0, `${page} has no commands`);
    const pool = blocks.some(({ kind }) => kind === 'condor') ? await testPool(this.#t) : undefined;
    if (pool !== undefined) this.env['PATH'] = `${pool.bin}:${this.env['PATH'] ?? ''}`;
    this.#t.after(() => this.updraft('mini', 'federation', 'down'));
    return await this.#spawn('sh', ['-euc', scriptOf(blocks, pool !== undefined)]).ended;
  }

  /** Runs `updraft` in the example's folder. */
  async updraft(...words: string[]): Promise<Ended> {
    const options = { cwd: this.folder, env: this.env, maxBuffer: 1 << 24 };
    try {
      const { stdout, stderr } = await promisify(execFile)('updraft', words, options);
      return { code: 0, out: stdout, err: stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, out: stdout, err: stderr };
    }
  }

  /** The only run of the example, and the folder of its first job's results. */
  async result(): Promise<{ state: RunState; results: string }> {
    const runs = path.join(this.folder, 'runs');
    const [name = ''] = await runNames(this.folder);
    return {
      state: await readRunState(path.join(runs, name)),
      results: path.join(runs, name, 'results', '0000'),
    };
  }

  async metrics(): Promise<Record<string, unknown>> {
    const { results } = await this.result();
    return JSON.parse(await readFile(path.join(results, 'metrics.json'), 'utf8')) as Record<string, unknown>;
  }
}
