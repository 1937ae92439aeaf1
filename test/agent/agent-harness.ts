import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, watch, type FSWatcher } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { fileName, type CheckpointRecord } from '../../src/agent/checkpoint/record.ts';
import type { DataSource, Train } from '../../src/job/spec.ts';
import type { WorkOrder } from '../../src/job/job.ts';
import type { Rungs } from '../../src/search/rungs.ts';
import { attemptFiles } from '@updraft/account/run-folder';
import { type AgentEntry, decode } from '@updraft/account/journal';
import { compileCache } from '../compile-cache.ts';
import { agentWords } from '../programs.ts';

const root = path.resolve(import.meta.dirname, '..', '..');
const named = process.env['UPDRAFT_AGENT'];
/** What `npm test` has built, by hand the sources; or the executable that `UPDRAFT_AGENT` names. */
export const defaultCommand = named === undefined ? agentWords : [named];

/** The built executable for this machine, if there is one. */
export const executable = path.join(root, 'dist', `updraft-agent-linux-${os.arch()}`);

interface Changes extends Partial<Omit<WorkOrder, 'job' | 'data'>> {
  train?: Partial<Train>;
  data?: Partial<DataSource>[];
  files?: Record<string, string>;
  rungs?: Rungs;
}

interface Finished {
  exit: number | null;
  stderr: string;
}

/** A folder with everything an attempt needs, and agents started on it; all is removed after the test. */
export class AgentHarness {
  readonly folder: string;
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(t: TestContext, parent = os.tmpdir()): Promise<AgentHarness> {
    const harness = new AgentHarness(await mkdtemp(path.join(parent, 'updraft-agent-test-')));
    for (const name of ['files', 'scratch', 'job/attempt-1'])
      await mkdir(harness.at(name), { recursive: true });
    t.after(async () => {
      for (const child of harness.#children) child.kill('SIGKILL');
      await rm(harness.folder, { recursive: true, force: true });
    });
    return harness;
  }

  at(name: string): string {
    return path.join(this.folder, name);
  }

  /** Writes an order for a training of which only the changes are given, and returns its file. */
  async order(changes: Changes = {}): Promise<string> {
    const { train = {}, data = [], files = {}, attempt = 1, rungs, ...rest } = changes;
    for (const [name, text] of Object.entries(files)) await writeFile(this.at(`files/${name}`), text);
    const attemptFolder = this.at(`job/attempt-${attempt}`);
    await mkdir(attemptFolder, { recursive: true });
    const order: WorkOrder = {
      version: 1,
      run: 'test-run',
      job: {
        id: '0000',
        parameters: {},
        train: { command: 'true', files: Object.keys(files), outputs: ['model.pt'], env: {}, ...train },
        ...(rungs && { rungs }),
      },
      attempt,
      data: data.map((one) => ({
        name: 'data',
        url: '',
        into: 'data',
        unpack: 'auto',
        method: 'auto',
        expect: {},
        ...one,
      })),
      environment: { python: [] },
      resources: { cpus: 1, gpus: 0, memoryBytes: 1e9, diskBytes: 'auto' },
      filesFrom: this.at('files'),
      scratchParent: this.at('scratch'),
      resultsTo: this.at('results/0000'),
      attemptFolder,
      ...rest,
    };
    const file = path.join(attemptFolder, attemptFiles.order);
    await writeFile(file, JSON.stringify(order));
    return file;
  }

  /** Starts the default agent, or the given command. */
  start(order: string, command: string[] = defaultCommand, env: NodeJS.ProcessEnv = {}): RunningAgent {
    const [program = '', ...args] = command;
    const child = spawn(program, [...args, 'run', order], {
      cwd: this.folder,
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#children.push(child);
    return new RunningAgent(child, path.dirname(order));
  }

  async run(changes: Changes, command?: string[], env?: NodeJS.ProcessEnv): Promise<Finished> {
    return await this.start(await this.order(changes), command, env).finished;
  }

  journal(attempt = 1): AgentEntry[] {
    return readJournal(this.at(`job/attempt-${attempt}`));
  }

  /** The kinds of the last entries, without progress of the clean-up. */
  lastKinds(count: number): AgentEntry['kind'][] {
    const kinds = this.journal().map(({ kind }) => kind);
    return kinds.filter((kind) => kind !== 'clean-progress').slice(-count);
  }

  /** Entries of one kind. */
  entries<Kind extends AgentEntry['kind']>(kind: Kind, attempt = 1): Extract<AgentEntry, { kind: Kind }>[] {
    return this.journal(attempt).filter(
      (entry): entry is Extract<AgentEntry, { kind: Kind }> => entry.kind === kind,
    );
  }

  result(name: string): string {
    return readFileSync(this.at(`results/0000/${name}`), 'utf8');
  }

  /** The files of the latest saved checkpoint, by path. */
  checkpoint(): Record<string, string> {
    const store = this.at('job/checkpoint');
    const kept = readdirSync(store).map((name) => ({
      folder: path.join(store, name),
      record: JSON.parse(readFileSync(path.join(store, name, 'record.json'), 'utf8')) as CheckpointRecord,
    }));
    const [latest] = kept.sort((a, b) => b.record.number - a.record.number);
    const files = latest?.record.files.map(({ path: name }, index) => [
      name,
      readFileSync(path.join(latest.folder, fileName(index)), 'utf8'),
    ]);
    return Object.fromEntries(files ?? []) as Record<string, string>;
  }

  /** What attempts left behind; should be empty. */
  leftovers(): string[] {
    const drafts = existsSync(this.at('results'))
      ? readdirSync(this.at('results')).filter((name) => name !== '0000')
      : [];
    return [...readdirSync(this.at('scratch')), ...drafts];
  }
}

export class RunningAgent {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  readonly #folder: string;

  constructor(child: ChildProcess, folder: string) {
    this.child = child;
    this.#folder = folder;
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    this.finished = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (exit) => resolve({ exit, stderr }));
    });
  }

  /** Resolves when the attempt's files fulfil the condition; rejects if the agent ends first. */
  async until(condition: (entries: AgentEntry[], out: string) => boolean): Promise<void> {
    const holds = (): boolean =>
      condition(readJournal(this.#folder), textOf(path.join(this.#folder, attemptFiles.out)));
    let watcher: FSWatcher | undefined;
    const fulfilled = new Promise<void>((resolve) => {
      watcher = watch(this.#folder, () => {
        if (holds()) resolve();
      });
      if (holds()) resolve();
    });
    try {
      await this.before(fulfilled);
    } finally {
      watcher?.close();
    }
  }

  /** Waits for a promise; rejects if the agent ends first. */
  async before(something: Promise<void>): Promise<void> {
    const ended = this.finished.then(({ exit, stderr }) => {
      throw new Error(`the agent ended too early: ${exit ?? 'by a signal'} ${stderr}`);
    });
    await Promise.race([something, ended]);
  }

  untilPhase(phase: string): Promise<void> {
    return this.until((entries) => entries.some((entry) => entry.kind === 'phase' && entry.phase === phase));
  }

  untilOut(text: string): Promise<void> {
    return this.until((_, out) => out.includes(text));
  }
}

function readJournal(folder: string): AgentEntry[] {
  return textOf(path.join(folder, attemptFiles.journal))
    .split('\n')
    .map((line) => decode(line))
    .filter((entry) => typeof entry !== 'string') as AgentEntry[];
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
