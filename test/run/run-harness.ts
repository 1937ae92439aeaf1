import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { TestContext } from 'node:test';
import { shellQuote, systemClock } from '@updraft/base';
import { identifyProcess, livenessOf } from '@updraft/base/processes';
import { loadPlan } from '../../src/job/load-plan.ts';
import { type Entry, followRun, readJournal, type RunState } from '@updraft/account/journal';
import { startAgent } from '../../src/pool/local/agent-process.ts';
import type { SuperviseOptions } from '../../src/pool/local/supervisor.ts';
import { supervisorState } from '../../src/pool/local/local-pool.ts';
import { createRun } from '../../src/run/create-run.ts';
import { compileCache } from '../compile-cache.ts';
import { runNames } from '../run-names.ts';
import { agentWords, placeUpdraft } from '../programs.ts';
import { hangMs } from '../hang-limit.ts';

export const projectRoot = path.resolve(import.meta.dirname, '..', '..');

export interface CommandResult {
  code: number | null;
  out: string;
  err: string;
}

/** A folder with a job file and its own pool; everything started in it is ended afterwards. */
export class RunHarness {
  readonly folder: string;
  readonly scratch: string;
  readonly pool: string;
  /** Trainings append to this file. */
  readonly log: string;
  readonly env: Record<string, string>;
  readonly #stop = new AbortController();

  private constructor(folder: string) {
    this.folder = folder;
    this.scratch = path.join(folder, 'scratch');
    this.pool = path.join(folder, 'pool');
    this.log = path.join(folder, 'trainings.log');
    this.env = {
      PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? '/usr/bin:/bin'}`,
      HOME: folder,
      XDG_STATE_HOME: path.join(folder, 'state'),
      UPDRAFT_SCRATCH: this.scratch,
      UPDRAFT_AGENT: path.join(folder, 'agent'),
      NODE_COMPILE_CACHE: compileCache,
      LOG: this.log,
      GO: path.join(folder, 'go'),
    };
  }

  static async make(t: TestContext): Promise<RunHarness> {
    const harness = new RunHarness(await mkdtemp(path.join(os.tmpdir(), 'run-bench-')));
    t.after(() => harness.#end());
    await mkdir(harness.scratch);
    await placeUpdraft(path.join(harness.folder, 'bin'));
    await harness.#useProgram(agentWords);
    return harness;
  }

  /** Attempts run this program from now on: the real agent's source, or a scripted one. */
  async useAgent(source: string): Promise<void> {
    await this.#useProgram([process.execPath, source]);
  }

  async #useProgram(words: string[]): Promise<void> {
    const script = `#!/bin/sh\nexec ${words.map(shellQuote).join(' ')} "$@"\n`;
    await writeFile(path.join(this.folder, 'agent'), script);
    await chmod(path.join(this.folder, 'agent'), 0o755);
  }

  /** Writes the job file: one CPU and little memory per job, unless `more` says otherwise. */
  async describe(command: string, run = '', more = '[resources]\ncpus = 1\nmemory = "10 MB"'): Promise<void> {
    const train = `command = ${JSON.stringify(command)}\noutputs = ["model.pt"]`;
    await writeFile(
      path.join(this.folder, 'updraft.toml'),
      `name = "bench"\n[train]\n${train}\n[run]\npool = "local"\n${run}\n${more}\n`,
    );
  }

  /** Runs the command line as a user would. */
  async updraft(...words: string[]): Promise<CommandResult> {
    return this.start(...words).answer;
  }

  start(...words: string[]): { pid: number; answer: Promise<CommandResult> } {
    const child = spawn('updraft', words, {
      cwd: this.folder,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const texts = { out: '', err: '' };
    child.stdout.on('data', (data) => (texts.out += String(data)));
    child.stderr.on('data', (data) => (texts.err += String(data)));
    const answer = once(child, 'close').then(() => ({ code: child.exitCode, ...texts }));
    return { pid: child.pid!, answer };
  }

  /** Creates the run's folder without submitting it. */
  async createRun(): Promise<string> {
    return createRun(await loadPlan(this.folder), {}, '0.0.0', systemClock);
  }

  /** The options of a supervisor in this process; `over` replaces parts of them. */
  async supervision(runFolder: string, over: Partial<SuperviseOptions> = {}): Promise<SuperviseOptions> {
    const self = identifyProcess(process.pid);
    assert.ok(self);
    return {
      runFolder,
      plan: await loadPlan(this.folder),
      agent: [path.join(this.folder, 'agent')],
      scratchRoot: this.scratch,
      poolFolder: this.pool,
      machine: { cpus: 2, memoryBytes: 2 ** 30, gpus: [] },
      env: this.env,
      clock: systemClock,
      signal: this.#stop.signal,
      kill: (pid, signal) => {
        try {
          process.kill(pid, signal);
        } catch {
          // gone already
        }
      },
      startAgent,
      say: (line) => assert.fail(line),
      stopGraceMs: 10_000,
      self,
      ...over,
    };
  }

  async runs(): Promise<string[]> {
    const runs = path.join(this.folder, 'runs');
    return (await runNames(this.folder)).map((name) => path.join(runs, name));
  }

  /** Waits until the run's state fulfils the condition. */
  async until(runFolder: string, holds: (state: RunState) => boolean): Promise<RunState> {
    const signal = AbortSignal.timeout(hangMs);
    let last: RunState | undefined;
    for await (const state of followRun(runFolder, { clock: systemClock, signal })) {
      if (holds(state)) return state;
      last = state;
    }
    throw new Error(`the run ended before it was as expected: ${JSON.stringify(last?.jobs.slice(0, 3))}`);
  }

  async entries(runFolder: string): Promise<Entry[]> {
    return (await readJournal(path.join(runFolder, 'journal.jsonl'))).entries;
  }

  /** What the trainings wrote to the log, in order. */
  async trainings(): Promise<string[]> {
    const text = await readFile(this.log, 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  }

  /** Kills the run's supervisor as a power cut would. */
  async killSupervisor(runFolder: string): Promise<void> {
    const state = await supervisorState(runFolder);
    assert.equal(state.state, 'running');
    const identity = identifyProcess(state.pid);
    assert.ok(identity);
    process.kill(state.pid, 'SIGKILL');
    await eventually(() => livenessOf(identity) === 'dead');
  }

  /** Living processes of this harness, by its folder in their environment. */
  async processes(): Promise<number[]> {
    const found: number[] = [];
    for (const name of (await readdir('/proc')).filter((one) => /^\d+$/.test(one))) {
      const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
      if (environment.includes(`LOG=${this.log}\0`)) found.push(Number(name));
    }
    return found;
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    for (const pid of await this.processes())
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    await eventually(async () => (await this.processes()).length === 0);
    // A supervisor in this process may still be writing.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

/** Polls for something that no journal records. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const signal = AbortSignal.timeout(hangMs);
  while (!(await holds())) await systemClock.sleep(25, signal);
}

/** A job is in a phase of its attempt. */
export const isIn =
  (job: string, phase: string) =>
  (state: RunState): boolean =>
    state.jobs.some(({ id, attempts }) => id === job && attempts.at(-1)?.phase === phase);
