import path from 'node:path';
import { readdirSync, closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { type Clock, defined, formatSize, memoryToRequest, tried, formatDuration } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { ofRankZero } from '@updraft/base/training';
import { attemptFiles } from '@updraft/account/run-folder';
import type { Progress } from '@updraft/account/journal';
import type { Attempt, Context } from '../attempt.ts';
import { isArriving } from '../data/shard-stream.ts';
import { describeMachine, ownGpus, queryNvidiaSmi } from '../machine/machine.ts';
import type { Recorder } from '../notes/journal-writer.ts';
import { SlowSlot } from '../slow-slot/slow-slot.ts';
import { endBytes, LogTail, maxRead } from './log-tail.ts';
import { attemptProcesses, cpuSecondsOf, addUp, usageOf } from './processes.ts';
import { ReportedProgress } from './reported-progress.ts';
import type { RungWatch } from './rung-watch.ts';
import { LogRedactor } from './secrets.ts';
import { livePageBytes, livePageHead } from '../../job/live-page.ts';

/** `nvidia-smi` costs a tenth of a second of CPU, and more on a machine with many GPUs. */
const gpuPollMs = 60_000;
/** When the training is quiet, its GPUs may be its only sign of life. */
const quietGpuPollMs = 30_000;

/** Of a core: a training that uses less while its data arrives only waits for it. */
const idleShare = 0.1;
/** Processes are listed less often than sampled: listing reads all of /proc. */
const processScanMs = 2000;

/**
 * How long a training waited for data that is still arriving: as it reports, or else the time in which its processes
 * use no CPU. One that computes a little all the time is not seen to wait.
 */
class DataWait {
  #seconds = 0;
  /** CPU seconds of its processes at the last poll. */
  #used = 0;
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
    if (now - this.#foundAt >= processScanMs) {
      this.#foundAt = now;
      this.#pids = processes();
    }
    const before = this.#used;
    this.#used = addUp(this.#pids, cpuSecondsOf);
    const passed = (now - (last ?? now)) / 1000;
    if (this.#used - before < passed * idleShare) this.#seconds += passed;
  }
}

/** After this long without a sign of life, and then this often, the training's processes are sampled. */
const quietPollSeconds = 10;

/** Distinguishes a training that hangs from one that works silently. */
class QuietWatch {
  readonly #attempt: Attempt;
  readonly #gpus: GpuMeter | undefined;
  readonly #asked: number | undefined;
  readonly #pollSeconds: number;
  /** The last check in this silence, with the CPU seconds of all processes. */
  #last: { seconds: number; used: number; at: number } | undefined;
  #cpuSeconds = 0;
  #gpuPercent: number | undefined;

  constructor(attempt: Attempt, gpus: GpuMeter | undefined) {
    this.#attempt = attempt;
    this.#gpus = gpus;
    this.#asked = attempt.order.job.train.quietLimitSeconds;
    this.#pollSeconds = Math.min(quietPollSeconds, (this.#asked ?? Infinity) / 4);
  }

  /** The Fault that ends a training that was quiet for too long; `processes` are listed only when needed. */
  check(seconds: number, processes: () => number[]): Fault | undefined {
    if (seconds < this.#pollSeconds) this.#last = undefined;
    if (seconds < this.#pollSeconds + (this.#last?.seconds ?? 0)) return undefined;
    const pids = processes();
    this.#sample(seconds, addUp(pids, cpuSecondsOf));
    const quiet: QuietPeriod = {
      seconds,
      processes: pids.length,
      cpuSeconds: this.#cpuSeconds,
      gpuPercent: this.#gpuPercent,
    };
    if (seconds <= quietLimit(quiet, this.#asked)) return undefined;
    const { order, context } = this.#attempt;
    return hangFault(order.job.id, describeMachine(context.env).host, quiet);
  }

  /** Adds what was done since the last check; the first one in a silence only sets the baseline. */
  #sample(seconds: number, used: number): void {
    const [before, latest] = [this.#last, this.#gpus?.latest];
    const at = latest?.at ?? -Infinity;
    this.#last = { seconds, used, at };
    if (before === undefined) [this.#cpuSeconds, this.#gpuPercent] = [0, undefined];
    else {
      this.#cpuSeconds += Math.max(0, used - before.used);
      if (latest !== undefined && at > before.at)
        this.#gpuPercent = Math.max(this.#gpuPercent ?? 0, latest.percent);
    }
    void this.#gpus?.poll(quietGpuPollMs);
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
  readonly #rungs: RungWatch | undefined;
  readonly #wait = new DataWait();
  readonly #measured: Throttled<ReturnType<typeof usageOf>>;
  #sessions: readonly number[] = [];
  readonly #reported = new ReportedProgress();
  /** Whether all that the ended training reported is recorded. */
  finished: Promise<void> = Promise.resolve();
  #reportedAt = -Infinity;
  #beatAt: number;
  #aliveAt: number;
  #arrivedAt = -Infinity;

  /** Create it before the training starts: what its logs hold by then is from an earlier start. */
  constructor(attempt: Attempt, rungs?: RungWatch) {
    const { order, scratch, context, record } = attempt;
    this.#rungs = rungs;
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
    this.#measured = new Throttled(
      () => usageOf(this.#processes(), this.#clock.monotonic()),
      memoryShare,
      this.#clock,
    );
    this.#beatAt = this.#clock.monotonic();
    this.#aliveAt = this.#beatAt;
  }

  /** The training has started in these sessions. */
  started(...sessions: readonly number[]): void {
    this.#sessions = sessions;
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
    const { idleLimitSeconds = Infinity } = this.#attempt.order.job.train;
    void this.#gpus?.poll(Math.min(gpuPollMs, idleLimitSeconds * 250));
    this.#beat();
  }

  #beat(): void {
    this.#record({
      kind: 'heartbeat',
      quietSeconds: Math.round(this.quietSeconds),
      ...this.#measured.read(),
      ...defined({ gpuPercent: this.#gpus?.take() }),
    });
  }

  /** The Fault to end the training with: it uses too much memory, hangs, or its machine is too slow. After `poll`. */
  verdict(residentBytes: number): Fault | undefined {
    // A training that waits for data need not print; the transfer has its own watch.
    if (isArriving(this.#attempt)) this.#arrivedAt = this.#clock.monotonic();
    const quiet = (this.#clock.monotonic() - Math.max(this.#aliveAt, this.#arrivedAt)) / 1000;
    return (
      this.#checkMemory(residentBytes) ??
      this.#quiet.check(quiet, () => this.#processes()) ??
      this.#checkGpus() ??
      this.#slow.check()
    );
  }

  /** Only if the user set a limit: a training may have its reasons. */
  #checkGpus(): Fault | undefined {
    const { order, context } = this.#attempt;
    const { id, train } = order.job;
    const { idleSince = Infinity, latest } = this.#gpus ?? {};
    const seconds = ((latest?.at ?? 0) - Math.max(idleSince, this.#arrivedAt)) / 1000;
    if (seconds < (train.idleLimitSeconds ?? Infinity)) return undefined;
    const idle = `the GPU of job ${id} on ${describeMachine(context.env).host} was idle for `;
    return new Fault('training-hung', `${idle}${formatDuration(Math.round(seconds))} while it printed`, {
      fix: 'see its last lines in out.log, or raise `idle_limit`',
      about: id,
    });
  }

  /** What is resident counts shared pages for each process, so the exact figure decides. */
  #checkMemory(residentBytes: number): Fault | undefined {
    const { limitsMemory, resources } = this.#attempt.order;
    const limit = Math.max(resources.memoryBytes, minLimitBytes);
    if (limitsMemory !== true || residentBytes <= limit) return undefined;
    const used = this.#measured.read().memoryBytes;
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
    return attemptProcesses(this.#attempt.scratch.root, ...this.#sessions);
  }

  #take(tail: LogTail): void {
    const { lines, grown } = tail.read();
    if (grown) this.#aliveAt = this.#clock.monotonic();
    for (const line of lines) this.#add(tail, line);
  }

  #add(tail: LogTail, line: string): void {
    const said = ofRankZero(line);
    if (said === '') return;
    const report = tail === this.#records ? this.#reported.addRecord(line) : this.#reported.addPrinted(said);
    this.#slow.onProgress(report);
    this.#rungs?.onProgress(report);
    this.#wait.onProgress(report);
  }

  #report(hasEnded = false): void {
    const entries = this.#reported.take(hasEnded);
    for (const entry of entries) this.#record(entry);
    if (entries.length > 0) this.#reportedAt = this.#clock.monotonic();
  }
}

/** Whether the training finds no checkpoint to resume from. */
export function startsFresh({ order, scratch }: Attempt): boolean {
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

/** Asks `nvidia-smi` now and then how busy the attempt's own GPUs are. */
export class GpuMeter {
  readonly #context: Context;
  #askedAt = -Infinity;
  #sum = 0;
  #count = 0;
  /** The last sample: percent of the busiest GPU, and when it was taken. */
  latest: { percent: number; at: number } | undefined;
  /** The first of the last samples in which all were idle. */
  idleSince: number | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Takes a sample if the last one is older than that; do not wait for it, a driver may hang. */
  async poll(everyMs: number): Promise<void> {
    const { clock, env } = this.#context;
    if (clock.monotonic() - this.#askedAt < everyMs) return;
    this.#askedAt = clock.monotonic();
    const answer = await queryNvidiaSmi(this.#context).catch(() => undefined);
    if (answer?.kind !== 'gpus') return;
    const percents = ownGpus(env, answer.gpus).flatMap(({ percent }) => percent ?? []);
    if (percents.length === 0) return;
    this.#sum += percents.reduce((sum, percent) => sum + percent) / percents.length;
    this.#count += 1;
    const latest = { percent: Math.max(...percents), at: clock.monotonic() };
    this.latest = latest;
    this.idleSince = latest.percent > quietPercent ? undefined : (this.idleSince ?? latest.at);
  }

  /** The mean over all GPUs and samples since the last call; undefined if there is none. */
  take(): number | undefined {
    const mean = this.#count === 0 ? undefined : Math.round(this.#sum / this.#count);
    [this.#sum, this.#count] = [0, 0];
    return mean;
  }
}

/**
 * Keeps the end of a growing log as a page in a file that the pool shows while the job runs. Failures here do not
 * affect the attempt: the log itself is returned in the end.
 */
export class LiveCopy {
  readonly log: string;
  readonly #to: number;
  #offset = 0;
  #room = 0;
  #pages = 0;
  #failed = false;

  /** `to` is open for appending. */
  constructor(log: string, to: number) {
    this.log = log;
    this.#to = to;
  }

  /** Copies what the log gained, within its first `maxBytes` bytes. */
  copy(maxBytes = Infinity): void {
    if (this.#failed) return;
    let log: number | undefined;
    try {
      log = openSync(this.log, 'r');
      this.#copyFrom(log, maxBytes);
    } catch (error) {
      // Removed by the training: it may come back. Otherwise the disk is full, or the page is not a file.
      this.#failed = (error as NodeJS.ErrnoException).code !== 'ENOENT';
    } finally {
      if (log !== undefined) closeSync(log);
    }
  }

  #copyFrom(log: number, maxBytes: number): void {
    const size = Math.min(fstatSync(log).size, maxBytes);
    if (size === this.#offset) return;
    if (size < this.#offset || size - this.#offset > this.#room) this.#startPage(size);
    const bytes = Buffer.allocUnsafe(size - this.#offset);
    const read = readSync(log, bytes, 0, bytes.length, this.#offset);
    this.#write(bytes.subarray(0, read));
    this.#offset += read;
    this.#room -= read;
  }

  /** Starts a page, half full if the log is long enough: a reader wants to see the lines before. */
  #startPage(size: number): void {
    try {
      ftruncateSync(this.#to, 0);
    } catch (error) {
      // A pipe cannot be emptied: it gets one page.
      if (this.#pages > 0) throw error;
    }
    this.#pages += 1;
    this.#offset = Math.max(0, size - livePageBytes / 2);
    this.#room = livePageBytes;
    this.#write(Buffer.from(livePageHead(this.#offset)));
  }

  #write(bytes: Buffer): void {
    for (let done = 0; done < bytes.length;) done += writeSync(this.#to, bytes, done);
  }
}

/** What a training did while it showed no sign of life. */
export interface QuietPeriod {
  /** Without any output or progress report. */
  seconds: number;
  processes: number;
  /** CPU time of its processes meanwhile. */
  cpuSeconds: number;
  /** The highest utilization of its GPUs that was sampled; undefined if it cannot be read. */
  gpuPercent: number | undefined;
}

/** If the user set no limit: a training that neither prints nor does anything for this long has hung. */
const idleLimitSeconds = 3600;
/** A training that works silently gets this multiple of the limit: libraries that wait for each other spin, too. */
const busyFactor = 3;
/** Waiting costs less than this share of a core. */
const quietShare = 0.05;
const quietPercent = 5;

/** Seconds of silence after which this training counts as hung; Infinity for a busy one, if the user set no limit. */
export function quietLimit(quiet: QuietPeriod, asked: number | undefined): number {
  if (isBusy(quiet)) return asked === undefined ? Infinity : asked * busyFactor;
  return asked ?? idleLimitSeconds;
}

const isBusy = ({ seconds, cpuSeconds, gpuPercent = 0 }: QuietPeriod): boolean =>
  cpuSeconds > seconds * quietShare || gpuPercent > quietPercent;

/** The training hangs: what was seen, and where. */
export function hangFault(job: string, host: string, quiet: QuietPeriod): Fault {
  const { seconds, processes, cpuSeconds, gpuPercent } = quiet;
  const used = `its ${processes === 1 ? 'process' : `${processes} processes`} used ${cpuSeconds.toFixed(1)} s of CPU`;
  const gpu = gpuPercent === undefined ? '' : ` and at most ${gpuPercent} % of the GPU`;
  const silent =
    `the training of job ${job} on ${host} printed nothing and ` +
    `reported no progress for ${formatDuration(Math.round(seconds))}`;
  const fix = isBusy(quiet)
    ? 'print or report progress in the training, which is busy, or raise `quiet_limit`'
    : 'see its last lines in err.log; if it has to wait this long, raise `quiet_limit`';
  return new Fault('training-hung', `${silent}; meanwhile ${used}${gpu}`, { fix, about: job });
}
