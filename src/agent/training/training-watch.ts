import { readdirSync } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type Clock, defined, formatSize, memoryToRequest, tried } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import { attemptFiles } from '../../job/layout.ts';
import type { Progress } from '../../journal/entry.ts';
import type { Attempt } from '../attempt.ts';
import { isArriving } from '../data/arriving-data.ts';
import { describeMachine } from '../machine/machine.ts';
import type { Recorder } from '../notes/journal-writer.ts';
import { SlowSlot } from '../slow-slot/slow-slot.ts';
import { GpuMeter } from './gpu-meter.ts';
import { LiveCopy } from './live-copy.ts';
import { endBytes, LogTail, maxRead } from './log-tail.ts';
import { attemptProcesses, cpuSecondsOf, memoryOf } from './processes.ts';
import { hangFault, type QuietPeriod, quietLimit } from './quiet.ts';
import { ReportedProgress } from './reported-progress.ts';
import { LogRedactor } from './secrets.ts';

/** `nvidia-smi` costs a tenth of a second of CPU, and more on a machine with many GPUs. */
const gpuPollMs = 60_000;
/** When the training is quiet, its GPUs may be its only sign of life. */
const quietGpuPollMs = 30_000;

/** What a training's processes and GPUs do, seen from outside. */
class Activity {
  readonly #gpus: GpuMeter | undefined;
  /** CPU seconds of each process at the last sample; undefined while not sampling. */
  #before: Map<number, number> | undefined;
  cpuSeconds = 0;
  gpuPercent: number | undefined;
  #gpuSampleAt = -Infinity;

  constructor(gpus?: GpuMeter) {
    this.#gpus = gpus;
  }

  /** Adds what was done since the last sample; the first one only sets the baseline. */
  sample(pids: number[]): void {
    const now = new Map(pids.map((pid) => [pid, cpuSecondsOf(pid)]));
    const before = this.#before;
    this.#before = now;
    if (before !== undefined) {
      for (const [pid, seconds] of now) this.cpuSeconds += Math.max(0, seconds - (before.get(pid) ?? 0));
      this.#addGpus();
    }
    this.#gpuSampleAt = this.#gpus?.latest?.at ?? -Infinity;
    void this.#gpus?.poll(quietGpuPollMs);
  }

  /** The training is alive: earlier samples no longer matter. */
  forget(): void {
    this.#before = undefined;
    this.cpuSeconds = 0;
    this.gpuPercent = undefined;
  }

  #addGpus(): void {
    const latest = this.#gpus?.latest;
    if (latest === undefined || latest.at <= this.#gpuSampleAt) return;
    this.gpuPercent = Math.max(this.gpuPercent ?? 0, latest.percent);
  }
}

/** Of a core: a training that uses less while its data arrives only waits for it. */
const idleShare = 0.1;
/** Processes are listed less often than sampled: listing reads all of /proc. */
const processScanMs = 2000;

/**
 * How long a training waited for data that is still arriving: as it reports, or else the time in which its processes
 * use no CPU. One that computes a little all the time is not seen to wait.
 */
class DataWait {
  readonly #activity = new Activity();
  #seconds = 0;
  #reported = 0;
  #isReported = false;
  #isSaid = false;
  #foundAt = -Infinity;
  #pids: number[] = [];
  #lastAt: number | undefined;

  /** What is new; nothing if the training reports it itself. */
  takeUpdate(): Progress {
    const waited = Math.round(this.#seconds * 10) / 10;
    if (this.#isReported || waited === this.#reported) return {};
    this.#reported = waited;
    return { waited };
  }

  onProgress({ waited }: Progress): void {
    if (waited !== undefined) this.#isReported = true;
  }

  /** What the readers of shards on demand have said so far. */
  onSaid(seconds: number): void {
    this.#isSaid = true;
    this.#seconds = seconds;
  }

  /** Call it on every poll; `now` in milliseconds. */
  poll(isArriving: boolean, now: number, processes: () => number[]): void {
    const last = this.#lastAt;
    this.#lastAt = this.#isReported || this.#isSaid || !isArriving ? undefined : now;
    if (this.#lastAt === undefined) return;
    if (last === undefined) this.#activity.forget();
    if (now - this.#foundAt >= processScanMs) {
      this.#foundAt = now;
      this.#pids = processes();
    }
    const before = this.#activity.cpuSeconds;
    this.#activity.sample(this.#pids);
    const passed = (now - (last ?? now)) / 1000;
    if (this.#activity.cpuSeconds - before < passed * idleShare) this.#seconds += passed;
  }
}

/** After this long without a sign of life, and then this often, the training's processes are sampled. */
const quietPollSeconds = 10;

/** Distinguishes a training that hangs from one that works silently. */
class QuietWatch {
  readonly #attempt: Attempt;
  readonly #asked: number | undefined;
  readonly #pollSeconds: number;
  readonly #activity: Activity;
  /** Seconds of silence at the last check; undefined if there was none. */
  #checkedAt: number | undefined;

  constructor(attempt: Attempt, gpus: GpuMeter | undefined) {
    this.#attempt = attempt;
    this.#asked = attempt.order.job.train.quietLimitSeconds;
    this.#pollSeconds = Math.min(quietPollSeconds, (this.#asked ?? Infinity) / 4);
    this.#activity = new Activity(gpus);
  }

  /** The Fault that ends a training that was quiet for too long; `processes` are listed only when needed. */
  check(seconds: number, processes: () => number[]): Fault | undefined {
    if (seconds < this.#pollSeconds) {
      if (this.#checkedAt !== undefined) this.#activity.forget();
      this.#checkedAt = undefined;
      return undefined;
    }
    if (this.#checkedAt !== undefined && seconds - this.#checkedAt < this.#pollSeconds) return undefined;
    this.#checkedAt = seconds;
    const pids = processes();
    this.#activity.sample(pids);
    const { cpuSeconds, gpuPercent } = this.#activity;
    const quiet: QuietPeriod = { seconds, processes: pids.length, cpuSeconds, gpuPercent };
    if (seconds <= quietLimit(quiet, this.#asked)) return undefined;
    const { order, context } = this.#attempt;
    return hangFault(order.job.id, describeMachine(context.env).host, quiet);
  }
}

/** An interpreter alone may take more than a smaller request. */
const minLimitBytes = 50e6;
const heartbeatMs = 10_000;
const progressMs = 1000;
/** Of a core: to report memory, the kernel walks every page of every process, 10 ms and more per gigabyte. */
const memoryShare = 0.002;

/** Of the file that `$UPDRAFT_PROGRESS` names: all of it is read, unless it grows faster than that for long. */
const maxRecords = 256 << 20;

/** Observes a running training from outside: its output, its progress, its memory. */
export class TrainingWatch {
  readonly #logs: LogTail[];
  readonly #records: LogTail;
  readonly #copies: LiveCopy[];
  readonly #redactor: LogRedactor;
  readonly #attempt: Attempt;
  readonly #clock: Clock;
  readonly #record: Recorder;
  readonly #gpus: GpuMeter | undefined;
  readonly #quiet: QuietWatch;
  readonly #slow: SlowSlot;
  readonly #wait = new DataWait();
  readonly #memory: Throttled<number>;
  #session: number | undefined;
  readonly #reported = new ReportedProgress();
  /** Whether all that the ended training reported is recorded. */
  finished: Promise<void> = Promise.resolve();
  #reportedAt = -Infinity;
  #beatAt: number;
  #aliveAt: number;
  #arrivedAt = -Infinity;

  /** Create it before the training starts: what its logs hold by then is from an earlier start. */
  constructor(attempt: Attempt) {
    const { order, scratch, context, record } = attempt;
    this.#logs = [attemptFiles.out, attemptFiles.err].map(
      (name) => new LogTail(path.join(order.attemptFolder, name), true),
    );
    for (const line of new LogTail(scratch.progress, false, endBytes).read().lines)
      this.#reported.addEarlier(line);
    this.#records = new LogTail(scratch.progress, true, maxRecords);
    this.#copies = (['out', 'err'] as const).flatMap((name) =>
      context.liveLogs === undefined
        ? []
        : [new LiveCopy(path.join(order.attemptFolder, attemptFiles[name]), context.liveLogs[name])],
    );
    this.#redactor = new LogRedactor(order, context.secrets);
    this.#attempt = attempt;
    this.#clock = context.clock;
    this.#record = record;
    this.#gpus = order.resources.gpus > 0 ? new GpuMeter(context) : undefined;
    this.#quiet = new QuietWatch(attempt, this.#gpus);
    for (const stream of attempt.streams ?? []) stream.restart();
    this.#slow = new SlowSlot(attempt, startsFresh(attempt));
    this.#memory = new Throttled(() => memoryOf(this.#processes()), memoryShare, this.#clock);
    this.#beatAt = this.#clock.monotonic();
    this.#aliveAt = this.#beatAt;
  }

  /** The training has started in this session. */
  started(session: number): void {
    this.#session = session;
  }

  /** Seconds since the last sign of life. */
  get quietSeconds(): number {
    return (this.#clock.monotonic() - this.#aliveAt) / 1000;
  }

  poll(): void {
    this.#redactor.redact();
    for (const source of [this.#records, ...this.#logs]) this.#take(source);
    for (const copy of this.#copies) copy.copy(this.#redactor.settled(copy.log));
    const now = this.#clock.monotonic();
    const said = (this.#attempt.streams ?? []).flatMap(({ waited }) => waited ?? []);
    if (said.length > 0) this.#wait.onSaid(said.reduce((sum, each) => sum + each));
    this.#wait.poll(isArriving(this.#attempt), now, () => this.#processes());
    if (now - this.#reportedAt >= progressMs) this.#report();
    if (now - this.#beatAt < heartbeatMs) return;
    this.#beatAt = now;
    this.#reported.add(this.#wait.takeUpdate());
    void this.#gpus?.poll(gpuPollMs);
    this.#beat();
  }

  #beat(): void {
    const measured = { memoryBytes: this.#memory.read(), quietSeconds: Math.round(this.quietSeconds) };
    this.#record({ kind: 'heartbeat', ...measured, ...defined({ gpuPercent: this.#gpus?.take() }) });
  }

  /** The Fault to end the training with: it uses too much memory, hangs, or its machine is too slow. After `poll`. */
  verdict(residentBytes: number): Fault | undefined {
    // A training that waits for data need not print; the transfer has its own watch.
    if (isArriving(this.#attempt)) this.#arrivedAt = this.#clock.monotonic();
    const quiet = (this.#clock.monotonic() - Math.max(this.#aliveAt, this.#arrivedAt)) / 1000;
    return (
      this.#checkMemory(residentBytes) ??
      this.#quiet.check(quiet, () => this.#processes()) ??
      this.#slow.check()
    );
  }

  /** What is resident counts shared pages for each process, so the exact figure decides. */
  #checkMemory(residentBytes: number): Fault | undefined {
    const { limitsMemory, resources } = this.#attempt.order;
    const limit = Math.max(resources.memoryBytes, minLimitBytes);
    if (limitsMemory !== true || residentBytes <= limit) return undefined;
    const used = this.#memory.read();
    if (used <= limit) return undefined;
    return new Fault(
      'memory-exceeded',
      `the training used ${formatSize(used)} of memory, but requested ${formatSize(resources.memoryBytes)}`,
      {
        fix: `write memory = "${memoryToRequest(used)}" in [resources], or more: it was stopped before its peak`,
      },
    );
  }

  /** The training has ended: reads its last lines, including one without a line end; at once if they are few. */
  finish(succeeded: boolean): Promise<void> {
    this.finished = this.#finish(succeeded);
    // Who waits for it later still gets the reason.
    this.finished.catch(() => undefined);
    return this.finished;
  }

  async #finish(succeeded: boolean): Promise<void> {
    this.#redactor.redact();
    for (const source of [this.#records, ...this.#logs]) {
      this.#take(source);
      // A process that outlives the training may write on and on.
      for (let left = maxRecords / maxRead; left > 0 && source.isBehind; left--) {
        await setImmediate();
        this.#take(source);
      }
      this.#add(source, source.rest());
    }
    this.#reported.add(this.#wait.takeUpdate());
    for (const copy of this.#copies) copy.copy(this.#redactor.seen(copy.log));
    this.#report(true);
    if (succeeded) this.#slow.finish();
  }

  #processes(): number[] {
    return attemptProcesses(this.#attempt.scratch.root, this.#session);
  }

  #take(tail: LogTail): void {
    const { lines, grown } = tail.read();
    if (grown) this.#aliveAt = this.#clock.monotonic();
    for (const line of lines) this.#add(tail, line);
  }

  #add(tail: LogTail, line: string): void {
    const report = tail === this.#records ? this.#reported.addRecord(line) : this.#reported.addPrinted(line);
    this.#slow.onProgress(report);
    this.#wait.onProgress(report);
  }

  #report(hasEnded = false): void {
    const entries = this.#reported.take(hasEnded);
    for (const entry of entries) this.#record(entry);
    if (entries.length > 0) this.#reportedAt = this.#clock.monotonic();
  }
}

/** Whether the training finds no checkpoint to resume from. */
function startsFresh({ order, scratch }: Attempt): boolean {
  const { checkpoint } = order.job.train;
  if (checkpoint === undefined) return true;
  return tried(() => readdirSync(path.join(scratch.work, checkpoint)).length === 0) ?? true;
}

/** A value that is costly to read: reading it takes at most a share of the time. */
export class Throttled<T> {
  readonly #get: () => T;
  readonly #share: number;
  readonly #clock: Clock;
  #last: { value: T; until: number } | undefined;

  constructor(get: () => T, share: number, clock: Clock) {
    this.#get = get;
    this.#share = share;
    this.#clock = clock;
  }

  /** The current value, or the last one read. */
  read(): T {
    const began = this.#clock.monotonic();
    if (this.#last !== undefined && began < this.#last.until) return this.#last.value;
    const value = this.#get();
    const ended = this.#clock.monotonic();
    this.#last = { value, until: ended + (ended - began) / this.#share };
    return value;
  }
}
