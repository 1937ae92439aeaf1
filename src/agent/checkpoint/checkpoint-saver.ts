import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { defined, succeeds, tried } from '@updraft/base';
import { sandboxFiles } from '@updraft/account/run-folder';
import type { Fault } from '@updraft/account/fault';
import { type AgentBody, metricsOf, toFaultRecord } from '@updraft/account/journal';
import type { Attempt } from '../attempt.ts';
import { isCutZip } from '../results/copy-tree.ts';
import { attemptProcesses, wouldSurviveTerm } from '../training/processes.ts';
import { faultIn } from '../scratch.ts';
import {
  checkpointBytes,
  isIntact,
  positionIn,
  ResumeCheck,
  type CheckpointRecord,
  type Position,
} from './record.ts';
import { snapshotFolder, openForWriting, SettledFolder, type FolderSnapshot } from './settled-folder.ts';
import { CheckpointStore, defaultRetention, restoreGeneration } from './store.ts';

const pollMs = 1000;
/** How often it is polled at most while the training ends. */
const aheadMs = 25;
/** Saving may take this share of the time and of a core; after a failure it pauses for `retryMs`. */
const maxTimeShare = 0.05;
const maxCoreShare = 0.01;
const retryMs = 60_000;
/** Milliseconds of one core to copy and hash a byte. */
const workMsPerByte = 1.7e-6;

/** Restores an attempt's last good checkpoint, saves new ones, and finds out whether the training really resumes. */
export class CheckpointSaver {
  readonly #attempt: Attempt;
  readonly #code: string;
  readonly #folder: string;
  readonly #store: CheckpointStore;
  readonly #tested: () => Promise<void>;
  readonly #stop = new AbortController();
  #settled: SettledFolder;
  /** The checkpoint the training has: the one restored, or the last one saved. */
  #latest: CheckpointRecord | undefined;
  #check: ResumeCheck | undefined;
  #progressed: boolean | undefined;
  #began: Position | undefined;
  #position: Position = {};
  /** Whether the training has reported anything since it last started. */
  #hasReported = false;
  /** Where the training was when it last wrote to its folder. */
  #writtenAt: Position = {};
  #saving: Promise<void> | undefined;
  #nextPollMs = 0;
  #startedMs = 0;
  #savedMs: number | undefined;
  /** The digest of the checkpoint that the training last started with. */
  #startedWith: string | undefined;
  /** How many times in a row the training has exited by itself without `hasMoved`. */
  standstills = 0;
  /** Why nothing could be saved the last time. */
  trouble: Fault | undefined;

  private constructor(attempt: Attempt, folder: string, code: string, tested: () => Promise<void>) {
    const { order, context } = attempt;
    const { checkpointKeep } = order.job.train;
    const travels = context.restartFolder !== undefined && checkpointKeep === undefined;
    this.#attempt = attempt;
    this.#code = code;
    this.#folder = folder;
    this.#tested = tested;
    this.#store = new CheckpointStore(path.join(path.dirname(order.attemptFolder), sandboxFiles.checkpoint), {
      generations: checkpointKeep ?? defaultRetention.generations,
      bytes: travels ? defaultRetention.bytes : Infinity,
      isVolatile: context.poolCleans === 'always',
    });
    this.#settled = this.#newSettled();
  }

  /** Undefined without a checkpoint. `code`: the version of what runs; `tested` throws if its machine is broken. */
  static async open(
    attempt: Attempt,
    code: string,
    tested = () => Promise.resolve(),
  ): Promise<CheckpointSaver | undefined> {
    const { order, scratch } = attempt;
    if (order.job.train.checkpoint === undefined) return undefined;
    const folder = path.join(scratch.work, order.job.train.checkpoint);
    await mkdir(folder, { recursive: true });
    // All nodes of a job may share it: then this is a link.
    return new CheckpointSaver(attempt, await realpath(folder), code, tested);
  }

  /** Restores the latest intact checkpoint for the training, and records the damaged ones. */
  async restore(): Promise<void> {
    const { record, context } = this.#attempt;
    for (const generation of await this.#store.generations()) {
      const problem = isIntact(generation)
        ? await restoreGeneration(generation, this.#folder, context.signal)
        : generation.damage;
      if (problem === undefined && isIntact(generation)) {
        this.#store.adopt(generation, snapshotFolder(this.#folder));
        this.#latest = generation.record;
        this.#began = generation.record.began;
        return;
      }
      const which = isIntact(generation) ? ` of attempt ${generation.record.attempt}` : '';
      record({ kind: 'checkpoint-refused', reason: `the checkpoint${which}: ${problem ?? ''}` });
      this.#store.refuse(generation);
    }
  }

  /** Keeps the training's folder after a pause in the same sandbox. */
  async resume(standstills: number): Promise<void> {
    this.standstills = standstills;
    this.#latest = (await this.#store.generations()).find(isIntact)?.record;
    this.#began = this.#latest?.began;
  }

  /** The training is about to start, for the first time or again. */
  onStart(): void {
    const { record, context } = this.#attempt;
    this.#settled = this.#newSettled();
    this.#startedMs = context.clock.monotonic();
    this.#savedMs = undefined;
    this.#position = {};
    this.#hasReported = false;
    this.#progressed = undefined;
    this.#startedWith = this.#latest?.sha256;
    if (this.#latest === undefined) return;
    const { attempt: savedBy, position, code } = this.#latest;
    this.#writtenAt = position;
    this.#check = new ResumeCheck(position, this.#began);
    const otherCode = code === this.#code ? {} : { otherCode: true };
    record({ kind: 'checkpoint-restored', savedBy, ...positionIn(position), ...otherCode });
    if (this.firstEpoch !== undefined) record({ kind: 'progress', firstEpoch: 0 });
  }

  /** What a training that is resumed calls its first epoch, if that is 0. */
  get firstEpoch(): number | undefined {
    return this.#began?.epoch === 0 ? 0 : undefined;
  }

  /** Receives the attempt's journal entries; only the training's position matters here. */
  onEntry(body: AgentBody): void {
    if (body.kind !== 'progress') return;
    this.#hasReported ||= Object.keys({ ...positionIn(body), ...metricsOf(body) }).length > 0;
    this.#position = { ...this.#position, ...positionIn(body) };
    if (this.#latest === undefined && Object.keys(this.#position).length > 0) this.#began ??= this.#position;
    const verdict = this.#check?.onPosition(this.#position);
    if (verdict === undefined) return;
    this.#progressed = verdict.movedOn;
    this.#attempt.record({ kind: 'resume-checked', ...verdict });
  }

  /** Call often while the training runs: saves a new checkpoint when there is one. */
  poll(): void {
    const now = this.#attempt.context.clock.monotonic();
    if (this.#saving !== undefined || now < this.#nextPollMs) return;
    this.#nextPollMs = now + pollMs;
    try {
      const snapshot = this.#settled.poll(now);
      this.#placeWriting();
      if (snapshot !== undefined)
        this.#saving = this.#save(snapshot, false).finally(() => (this.#saving = undefined));
    } catch (error) {
      this.#reportTrouble(error);
    }
  }

  /** Call it while the training ends: reads what it saves, so that afterwards only a link is left to make. */
  readAhead(ended: AbortSignal): void {
    const { clock } = this.#attempt.context;
    const settled = this.#newSettled();
    const read = async (): Promise<void> => {
      let waitMs = aheadMs;
      while (!ended.aborted) {
        await clock.sleep(waitMs, ended).catch(() => undefined);
        const began = clock.monotonic();
        // Always the same moment: a file that never settles is not read.
        const snapshot = settled.poll(0);
        waitMs = Math.max(aheadMs, (clock.monotonic() - began) / maxTimeShare);
        if (snapshot === undefined) continue;
        await this.#store.readAhead(this.#folder, snapshot, this.#stop.signal);
        settled.markSaved(snapshot);
      }
    };
    const reading = Promise.all([this.#saving, read().catch(() => undefined)]);
    this.#saving = reading.then(() => (this.#saving = undefined));
  }

  /** Saves what the training left after its end; `isLast` if its folder will be removed too. */
  async saveLast(signal: AbortSignal, isLast: boolean): Promise<void> {
    const stop = (): void => this.#stop.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    await this.#saving;
    this.trouble = undefined;
    try {
      const snapshot = this.#settled.unsavedSnapshot();
      this.#placeWriting();
      if (snapshot !== undefined) await this.#save(snapshot, isLast);
    } catch (error) {
      this.#reportTrouble(error);
    }
    signal.removeEventListener('abort', stop);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#saving;
  }

  /** Whether a checkpoint was saved since the training last started. */
  get hasNew(): boolean {
    return this.#savedMs !== undefined;
  }

  /** Whether the new checkpoint differs from the one that the training started with, or its reports do. */
  get hasMoved(): boolean {
    return this.hasNew && (this.#latest?.sha256 !== this.#startedWith || this.#progressed === true);
  }

  /** Whether the training is further than when it last started, and that progress is saved. */
  get hasProgressed(): boolean {
    return this.hasNew && (this.#check === undefined || this.#progressed === true);
  }

  /**
   * Whether the checkpoint should leave the machine by now. A training that saves by itself is interrupted just after
   * it saved, to lose little if it ignores the request. One that has neither saved nor reported anything may still be
   * starting, and could only start over, unless it handles SIGTERM by now.
   */
  isDue(everyMs: number): boolean {
    const now = this.#attempt.context.clock.monotonic();
    const due = this.#startedMs + everyMs;
    if (now < due || this.#saving !== undefined) return false;
    if (!this.hasNew && !this.#hasReported) return this.canBeAsked();
    return this.#savedMs === undefined || this.#savedMs >= due || now >= due + everyMs;
  }

  /** Whether the training would survive the request to save and leave. */
  canBeAsked(): boolean {
    const { scratch, context } = this.#attempt;
    return wouldSurviveTerm(attemptProcesses(scratch.root).filter((pid) => pid !== context.pid));
  }

  /** The job has a valid result: nothing will resume from here. */
  async discard(): Promise<void> {
    await this.#store.clear();
  }

  async #save(snapshot: FolderSnapshot, isLast: boolean): Promise<void> {
    const { order, context, record } = this.#attempt;
    if (!(await succeeds(this.#tested()))) return;
    const cut = snapshot.files.keys().find((name) => tried(() => isCutZip(path.join(this.#folder, name))));
    if (cut !== undefined) {
      // Half a file, of a full disk or a killed training, would end every attempt that resumes from it.
      this.#settled.markSaved(snapshot);
      record({ kind: 'checkpoint-refused', reason: `a new checkpoint is not saved: ${cut} is cut short` });
      return;
    }
    const began = context.clock.monotonic();
    const about = {
      attempt: order.attempt,
      savedAt: new Date(context.clock.now()).toISOString(),
      code: this.#code,
      position: this.#writtenAt,
      ...defined({ began: this.#began }),
    };
    const isUnchanged = (): boolean => isLast || this.#settled.isUnchanged(snapshot);
    const options = { signal: this.#stop.signal, isLast, isUnchanged };
    try {
      const saved = await this.#store.save(this.#folder, snapshot, about, options);
      if (saved === undefined) return;
      this.#settled.markSaved(snapshot);
      this.#latest = saved;
      const { sha256, files, position } = saved;
      this.#savedMs = context.clock.monotonic();
      // The first poll after it only notices what is new.
      this.#nextPollMs = this.#savedMs - pollMs + pauseAfter(this.#savedMs - began, checkpointBytes(saved));
      const seconds = (this.#savedMs - began) / 1000;
      const figures = { files: files.length, bytes: checkpointBytes(saved), sha256, seconds };
      record({ kind: 'checkpoint-saved', ...figures, ...positionIn(position) });
    } catch (error) {
      if (!this.#stop.signal.aborted || isLast) this.#reportTrouble(error);
    }
  }

  /** A failure to save must not end a healthy training; it is recorded once. */
  #reportTrouble(thrown: unknown): void {
    const { record, context } = this.#attempt;
    this.#nextPollMs = context.clock.monotonic() + retryMs;
    const fault = faultIn(this.#store.folder, thrown);
    if (fault.message === this.trouble?.message) return;
    this.trouble = fault;
    record({ kind: 'fault', fault: toFaultRecord(fault) });
  }

  #placeWriting(): void {
    if (this.#settled.isMoving && Object.keys(this.#position).length > 0) this.#writtenAt = this.#position;
  }

  #newSettled(): SettledFolder {
    const { root } = this.#attempt.scratch;
    return new SettledFolder(this.#folder, () => openForWriting(attemptProcesses(root), this.#folder));
  }
}

/** How long to wait after a save that took `tookMs`; unchanged files cost no work. */
function pauseAfter(tookMs: number, bytes: number): number {
  return Math.max(tookMs / maxTimeShare, Math.min(tookMs, bytes * workMsPerByte) / maxCoreShare);
}
