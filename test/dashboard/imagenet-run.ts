import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '@updraft/base';
import type { FaultKind } from '@updraft/account/fault';
import { attemptFiles, attemptFolder, jobId, runFiles } from '@updraft/account/run-folder';
import {
  type AgentBody,
  type AgentEntry,
  type Outcome,
  type RunBody,
  RunFold,
  type RunState,
} from '@updraft/account/journal';
import type { RunEntry } from '@updraft/account/testing';

/** Seconds after the creation of the run. */
type At<Body> = [second: number, body: Body];

/** Collects entries of a run, in any order. */
interface RunWriter {
  add(second: number, body: RunBody): void;
  agent(job: string, attempt: number, entries: At<AgentBody>[]): Promise<void>;
  print(job: string, attempt: number, text: string): Promise<void>;
}

/** Writes the journals of a run with any history, without waiting for it to happen. */
export class WrittenRun implements RunWriter {
  readonly folder: string;
  readonly #created: number;
  readonly #lines: string[] = [];

  constructor(folder: string, created: number) {
    this.folder = folder;
    this.#created = created;
  }

  add(second: number, body: RunBody): void {
    this.#lines.push(this.#line(second, this.#lines.length, body));
  }

  /** All entries in order of time. */
  async write(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
    const lines = this.#lines.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)));
    await writeFile(path.join(this.folder, runFiles.journal), lines.join(''));
  }

  /** Appends an entry to a written journal. */
  async append(second: number, body: RunBody): Promise<void> {
    const line = this.#line(second, this.#lines.length, body);
    this.#lines.push(line);
    await appendFile(path.join(this.folder, runFiles.journal), line);
  }

  async agent(job: string, attempt: number, entries: At<AgentBody>[]): Promise<void> {
    const folder = attemptFolder(this.folder, job, attempt);
    await mkdir(folder, { recursive: true });
    const lines = entries.map(([second, body], seq) => this.#line(second, seq, { job, attempt, ...body }));
    await appendFile(path.join(folder, attemptFiles.journal), lines.join(''));
  }

  async print(job: string, attempt: number, text: string, file: 'out' | 'err' = 'out'): Promise<void> {
    const folder = attemptFolder(this.folder, job, attempt);
    await mkdir(folder, { recursive: true });
    await appendFile(path.join(folder, attemptFiles[file]), text);
  }

  #line(second: number, seq: number, body: object): string {
    const t = new Date(this.#created + second * 1000).toISOString();
    return `${JSON.stringify({ v: 1, t, seq, ...body })}\n`;
  }
}

/** A run in memory: writing and reading journals of ten thousand jobs takes longer than showing them. */
export class RememberedRun implements RunWriter {
  readonly #created: number;
  readonly #run: RunEntry[] = [];
  readonly #agents: AgentEntry[][] = [];
  readonly #fold = new RunFold();
  #change = Promise.withResolvers<undefined>();

  constructor(created: number) {
    this.#created = created;
  }

  add(second: number, body: RunBody): void {
    this.#run.push(this.#entry(second, this.#run.length, body) as RunEntry);
  }

  agent(job: string, attempt: number, entries: At<AgentBody>[]): Promise<void> {
    const whole = entries.map(([second, body], seq) => this.#entry(second, seq, { job, attempt, ...body }));
    this.#agents.push(whole as AgentEntry[]);
    return Promise.resolve();
  }

  print(): Promise<void> {
    return Promise.resolve();
  }

  begin(): void {
    const inOrder = this.#run.toSorted((a, b) => a.t.localeCompare(b.t));
    this.#fold.addAll([...inOrder, ...this.#agents.flat()]);
  }

  append(second: number, body: RunBody): void {
    this.#fold.add(this.#entry(second, this.#run.length, body) as RunEntry);
    this.#change.resolve(undefined);
    this.#change = Promise.withResolvers();
  }

  state(): RunState {
    return this.#fold.state();
  }

  async *follow(signal: AbortSignal): AsyncGenerator<RunState> {
    const left = new Promise((_, reject) => signal.addEventListener('abort', reject));
    for (;;) {
      const { promise } = this.#change;
      yield this.state();
      await Promise.race([promise, left]);
    }
  }

  #entry(second: number, seq: number, body: object): object {
    return { v: 1, t: new Date(this.#created + second * 1000).toISOString(), seq, ...body };
  }
}

const timeOf = (line: string): string => /"t":"([^"]+)"/.exec(line)?.[1] ?? '';

const sites = ['CHTC', 'SDSC-PRP', 'UChicago', 'Nebraska-GPU', 'Purdue'];
const caches = ['osdf-uw.example:8443', 'sdsc-cache.example:8443', 'chicago-cache.example:8443'];

interface Life {
  outcome: Outcome | 'running';
  fault?: FaultKind;
  message?: string;
  /** Seconds of fetching and training. */
  fetching: number;
  training: number;
  /** First and last epoch. */
  epochs: [number, number];
  /** The epoch of the checkpoint that it saved or resumed from. */
  saved?: number;
  resumed?: number;
}

interface DetailedLife extends Life {
  stepsPerEpoch: number;
}

/** An hour and a half of a run of ImageNet jobs, with everything that happens on a real pool. */
export async function imagenetRun(
  folder: string,
  now: number,
  jobs = 24,
  options: RunDetails = {},
): Promise<WrittenRun> {
  const run = new WrittenRun(folder, now - hourAndHalf);
  await writeImagenet(run, path.basename(folder), jobs, options);
  await run.write();
  return run;
}

/** The same without files. */
export async function rememberedImagenet(name: string, now: number, jobs: number): Promise<RememberedRun> {
  const run = new RememberedRun(now - hourAndHalf);
  await writeImagenet(run, name, jobs, { stepsPerEpoch: 2 });
  run.begin();
  return run;
}

const hourAndHalf = 5400_000;

interface RunDetails {
  message?: string;
  stepsPerEpoch?: number;
}

async function writeImagenet(run: RunWriter, name: string, jobs: number, options: RunDetails): Promise<void> {
  const ids = Array.from({ length: jobs }, (_, index) => jobId(index));
  run.add(0, {
    kind: 'run-created',
    run: name,
    name: 'imagenet',
    pool: 'condor',
    jobs: ids,
    planHash: '',
    version: '1',
  });
  const jobOf = (job: string, index: number) => writeJob(run, job, index, options);
  await mapLimited(
    ids.map((job, index) => [job, index] as const),
    64,
    ([job, index]) => jobOf(job, index),
  );
}

async function writeJob(
  run: RunWriter,
  job: string,
  index: number,
  { message = 'no bytes for 100 s', stepsPerEpoch = 20 }: RunDetails,
): Promise<void> {
  if (index % 8 === 7) return;
  let second = 60 + (index % 12) * 40;
  for (const [number, reported] of livesOf(index, message).entries()) {
    const life = { ...reported, stepsPerEpoch };
    second = await writeAttempt(run, job, number + 1, life, second, index);
    if (life.outcome === 'running') return;
    if (life.outcome === 'success') run.add(second, { kind: 'job-ended', job, outcome: 'success' });
    second += 60;
  }
  if (index % 8 === 5) run.add(second, { kind: 'job-ended', job, outcome: 'wrong-output' });
}

function livesOf(index: number, message: string): Life[] {
  const stalled: Life = {
    outcome: 'failed',
    fault: 'transfer-stalled',
    message,
    fetching: 700,
    training: 0,
    epochs: [0, 0],
  };
  const evicted: Life = {
    outcome: 'evicted',
    fault: 'evicted',
    message: 'the slot was taken back',
    fetching: 150,
    training: 1100,
    epochs: [0, 3],
    saved: 2,
  };
  const good: Life = { outcome: 'success', fetching: 160, training: 2400, epochs: [0, 8] };
  const fresh: Life = { outcome: 'running', message, fetching: 170, training: 1500, epochs: [2, 6] };
  const running: Life = { ...fresh, resumed: 2 };
  const wrong: Life = {
    outcome: 'wrong-output',
    fault: 'wrong-output',
    message: 'imagenet_resnet50.pt is missing',
    fetching: 160,
    training: 900,
    epochs: [0, 4],
  };
  return (
    [
      [good],
      [stalled, good],
      [evicted, running],
      [good],
      [fresh],
      [wrong],
      [{ ...fresh, training: 0, epochs: [0, 0] as [number, number] }],
    ][index % 8] ?? []
  );
}

async function writeAttempt(
  run: RunWriter,
  job: string,
  attempt: number,
  life: DetailedLife,
  from: number,
  index: number,
): Promise<number> {
  const { outcome, fault, message = '' } = life;
  const cache = caches[(index + attempt) % caches.length] ?? '';
  const object = '/ospool/imagenet/train.tar';
  const total = 137e9;
  const begun = from + 4;
  const fetched = begun + life.fetching;
  const isFetching = life.training === 0;
  const bytes = isFetching ? total * 0.4 : total;
  const entries: At<AgentBody>[] = [
    [
      begun,
      {
        kind: 'agent-started',
        version: '1',
        host: `gpu${index % 40}.example`,
        pid: 1,
        site: sites[index % 5] ?? '',
        gpus: ['A100'],
      },
    ],
    [begun + 2, { kind: 'phase', phase: 'fetching' }],
    [begun + 40, { kind: 'fetch-progress', object, bytes: bytes / 3, total, rate: 4e8, server: cache }],
  ];
  const record = { kind: 'transfer-stalled' as const, message, about: object };
  if (isFetching || index % 3 === 0)
    entries.push([
      begun + 60,
      { kind: 'fetch-setback', object, server: caches[index % caches.length] ?? '', fault: record },
    ]);
  entries.push([fetched, { kind: 'fetch-progress', object, bytes, total, rate: 4e8, server: cache }]);
  if (!isFetching) entries.push(...trainingEntries(life, fetched, object, total, cache));
  const ended = fetched + life.training + 40;
  run.add(from, {
    kind: 'attempt-started',
    job,
    attempt,
    why: attempt === 1 ? 'first attempt' : `attempt ${attempt - 1} ended`,
  });
  if (outcome !== 'running') {
    const record = fault === undefined ? {} : { fault: { kind: fault, message, fix: 'see `updraft logs`' } };
    entries.push([ended - 2, { kind: 'agent-ended', outcome, exit: outcome === 'success' ? 0 : 99 }]);
    run.add(ended, {
      kind: 'attempt-ended',
      job,
      attempt,
      outcome,
      exit: outcome === 'success' ? 0 : 99,
      ...record,
    });
  }
  await run.agent(job, attempt, entries);
  await run.print(job, attempt, `epoch 1\nloss of job ${job}, attempt ${attempt}\n`);
  return ended;
}

function trainingEntries(
  life: DetailedLife,
  fetched: number,
  object: string,
  total: number,
  cache: string,
): At<AgentBody>[] {
  const entries: At<AgentBody>[] = [
    [
      fetched,
      {
        kind: 'fetched',
        object,
        bytes: total,
        seconds: life.fetching,
        verified: 'manifest',
        servers: [{ server: cache, bytes: total }],
      },
    ],
    [fetched, { kind: 'phase', phase: 'unpacking' }],
    [fetched + 30, { kind: 'unpacked', object, files: 1281167, bytes: total, proven: true }],
    [fetched + 30, { kind: 'phase', phase: 'training' }],
    [fetched + 30, { kind: 'training-started', pid: 2, command: 'python3 main.py --epochs 8' }],
  ];
  const [from, to] = life.epochs;
  if (life.resumed !== undefined)
    entries.push(
      [fetched + 30, { kind: 'checkpoint-restored', savedBy: 1, epoch: life.resumed }],
      [fetched + 60, { kind: 'resume-checked', movedOn: true, epoch: life.resumed + 1 }],
    );
  const steps = life.stepsPerEpoch;
  for (let report = 1; report <= (to - from) * steps; report += 1) {
    const done = from + report / steps;
    const loss = 6.9 * Math.exp(-done / 2.5) + 0.9 + 0.12 * Math.sin(done * 9);
    const second = fetched + 30 + (life.training * report) / ((to - from) * steps);
    const epoch = Math.floor(done - 1e-9) + 1;
    entries.push([
      second,
      { kind: 'progress', epoch, epochs: 8, step: report % steps || steps, steps, loss },
    ]);
  }
  if (life.saved !== undefined)
    entries.push([
      fetched + 30 + (life.training * life.saved) / (to - from),
      { kind: 'checkpoint-saved', files: 1, bytes: 98e6, sha256: '', epoch: life.saved },
    ]);
  return entries.toSorted(([a], [b]) => a - b);
}
