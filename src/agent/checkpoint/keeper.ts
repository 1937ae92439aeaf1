import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { asFault, type Fault } from '../../fault/fault.ts';
import { sandboxFiles } from '../../job/layout.ts';
import { recordOf, type AgentBody } from '../../journal/entry.ts';
import type { Attempt } from '../attempt.ts';
import { attemptProcesses } from '../training/processes.ts';
import { diskFull } from '../scratch.ts';
import { bytesOf, isWhole, positionIn, ResumeCheck, type CheckpointRecord, type Position } from './record.ts';
import { lookAt, openForWriting, SettledFolder, type FolderLook } from './settled-folder.ts';
import { CheckpointStore, restoreGeneration } from './store.ts';

const lookEveryMs = 1000;
/** Saving may take this share of the time, and of a core, and after trouble waits for so long. */
const shareOfTime = 0.05;
const shareOfCore = 0.01;
const afterTroubleMs = 60_000;
/** What a core takes to copy and to hash, in milliseconds. */
const workMsPerByte = 1.7e-6;
const usualGenerations = 3;
/** Where every kept byte travels with the job, older checkpoints are kept only up to here, unless the user says how many. */
const travellingBytes = 1e9;

/**
 * Looks after the checkpoints of an attempt: gives the training the last good one, keeps what it writes while it runs
 * and when it has ended, and finds out whether it goes on from what it was given.
 */
export class CheckpointKeeper {
  readonly #attempt: Attempt;
  readonly #code: string;
  readonly #folder: string;
  readonly #store: CheckpointStore;
  readonly #stop = new AbortController();
  #settled: SettledFolder;
  /** The checkpoint the training has: the one it was given, or the last that was kept. */
  #latest: CheckpointRecord | undefined;
  #check: ResumeCheck | undefined;
  #movedOn: boolean | undefined;
  #began: Position | undefined;
  #position: Position = {};
  /** Where the training was when it last wrote to its folder. */
  #writtenAt: Position = {};
  #saving: Promise<void> | undefined;
  #nextLookMs = 0;
  #startedMs = 0;
  #savedMs: number | undefined;
  #trouble = '';

  private constructor(attempt: Attempt, folder: string, code: string) {
    const { order, world } = attempt;
    const { checkpointKeep } = order.job.train;
    const travels = world.pausesIn !== undefined && checkpointKeep === undefined;
    this.#attempt = attempt;
    this.#code = code;
    this.#folder = folder;
    this.#store = new CheckpointStore(path.join(path.dirname(order.attemptFolder), sandboxFiles.checkpoint), {
      generations: checkpointKeep ?? usualGenerations,
      bytes: travels ? travellingBytes : Infinity,
    });
    this.#settled = this.#newSettled();
  }

  /** Undefined when the job declares no checkpoint. `code` names the version of what the training runs. */
  static async open(attempt: Attempt, code: string): Promise<CheckpointKeeper | undefined> {
    const { order, scratch } = attempt;
    if (order.job.train.checkpoint === undefined) return undefined;
    const folder = path.join(scratch.work, order.job.train.checkpoint);
    await mkdir(folder, { recursive: true });
    return new CheckpointKeeper(attempt, folder, code);
  }

  /** Gives the training the latest checkpoint that is whole, and tells of those that are not. */
  async restore(): Promise<void> {
    const { note, world } = this.#attempt;
    for (const generation of await this.#store.generations()) {
      const problem = isWhole(generation)
        ? await restoreGeneration(generation, this.#folder, world.signal)
        : generation.damage;
      if (problem === undefined && isWhole(generation)) {
        this.#store.adopt(generation, lookAt(this.#folder));
        this.#latest = generation.record;
        this.#began = generation.record.began;
        return;
      }
      const which = isWhole(generation) ? ` of attempt ${generation.record.attempt}` : '';
      note({ kind: 'checkpoint-refused', reason: `the checkpoint${which}: ${problem ?? ''}` });
      this.#store.refuse(generation);
    }
  }

  /** Takes the training's folder as it lies there, after a pause in the same place. */
  async resume(): Promise<void> {
    const latest = (await this.#store.generations()).find(isWhole);
    this.#latest = latest?.record;
    this.#began = latest?.record.began;
  }

  /** The training is about to start, for the first time or again. */
  begin(): void {
    const { note, world } = this.#attempt;
    this.#settled = this.#newSettled();
    this.#startedMs = world.clock.monotonic();
    this.#savedMs = undefined;
    this.#position = {};
    this.#movedOn = undefined;
    if (this.#latest === undefined) return;
    const { attempt: savedBy, position, code } = this.#latest;
    this.#writtenAt = position;
    this.#check = new ResumeCheck(position, this.#began);
    const otherCode = code === this.#code ? {} : { otherCode: true };
    note({ kind: 'checkpoint-restored', savedBy, ...positionIn(position), ...otherCode });
  }

  /** What the attempt tells in its journal: the training's position is of interest here. */
  hear(body: AgentBody): void {
    if (body.kind !== 'progress') return;
    this.#position = { ...this.#position, ...positionIn(body) };
    if (this.#latest === undefined && Object.keys(this.#position).length > 0) this.#began ??= this.#position;
    const verdict = this.#check?.hear(this.#position);
    if (verdict === undefined) return;
    this.#movedOn = verdict.movedOn;
    this.#attempt.note({ kind: 'resume-checked', ...verdict });
  }

  /** To be called often while the training runs: keeps its checkpoint when there is a new one. */
  look(): void {
    const now = this.#attempt.world.clock.monotonic();
    if (this.#saving !== undefined || now < this.#nextLookMs) return;
    this.#nextLookMs = now + lookEveryMs;
    try {
      const look = this.#settled.look(now);
      this.#placeWriting();
      if (look !== undefined)
        this.#saving = this.#save(look, false).finally(() => (this.#saving = undefined));
    } catch (error) {
      this.#tell(error);
    }
  }

  /** Keeps what the training, which has ended, left; `isLast` when its folder goes too. */
  async saveLast(signal: AbortSignal, isLast: boolean): Promise<void> {
    const stop = (): void => this.#stop.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    await this.#saving;
    this.#trouble = '';
    try {
      const look = this.#settled.news();
      this.#placeWriting();
      if (look !== undefined) await this.#save(look, isLast);
    } catch (error) {
      this.#tell(error);
    }
    signal.removeEventListener('abort', stop);
  }

  /** Nothing more is to be kept. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#saving;
  }

  /** Whether something was kept since the training last started. */
  get hasNew(): boolean {
    return this.#savedMs !== undefined;
  }

  /** Whether the training is further than when it last started, and what it did since is kept. */
  get hasMovedOn(): boolean {
    return this.hasNew && (this.#check === undefined || this.#movedOn === true);
  }

  /**
   * Whether the training has run for so long that its checkpoint should leave the machine. One that saves by itself is
   * asked just after it has, so that little is lost should it not listen.
   */
  isDue(everyMs: number): boolean {
    const now = this.#attempt.world.clock.monotonic();
    const due = this.#startedMs + everyMs;
    if (now < due || this.#saving !== undefined) return false;
    return this.#savedMs === undefined || this.#savedMs >= due || now >= due + everyMs;
  }

  /** The job has a valid result: nobody will go on from here. */
  async discard(): Promise<void> {
    await this.#store.clear();
  }

  async #save(look: FolderLook, isLast: boolean): Promise<void> {
    const { order, world, note } = this.#attempt;
    const began = world.clock.monotonic();
    const about = {
      attempt: order.attempt,
      savedAt: new Date(world.clock.now()).toISOString(),
      code: this.#code,
      position: this.#writtenAt,
      ...defined({ began: this.#began }),
    };
    const isStill = (): boolean => isLast || this.#settled.isStill(look);
    const options = { signal: this.#stop.signal, isLast, isStill };
    try {
      const record = await this.#store.save(this.#folder, look, about, options);
      if (record === undefined) return;
      this.#settled.keep(look);
      this.#latest = record;
      const { sha256, files, position } = record;
      this.#savedMs = world.clock.monotonic();
      this.#nextLookMs = this.#savedMs + restAfter(this.#savedMs - began, bytesOf(record));
      const seconds = (this.#savedMs - began) / 1000;
      const figures = { files: files.length, bytes: bytesOf(record), sha256, seconds };
      note({ kind: 'checkpoint-saved', ...figures, ...positionIn(position) });
    } catch (error) {
      if (!this.#stop.signal.aborted || isLast) this.#tell(error);
    }
  }

  /** Trouble with saving is no reason to end a training that goes well; it is told once. */
  #tell(thrown: unknown): void {
    const { note, world } = this.#attempt;
    this.#nextLookMs = world.clock.monotonic() + afterTroubleMs;
    const fault = explain(thrown, this.#store.folder);
    if (fault.message === this.#trouble) return;
    this.#trouble = fault.message;
    note({ kind: 'fault', fault: recordOf(fault) });
  }

  #placeWriting(): void {
    if (this.#settled.isMoving && Object.keys(this.#position).length > 0) this.#writtenAt = this.#position;
  }

  #newSettled(): SettledFolder {
    const { root } = this.#attempt.scratch;
    return new SettledFolder(this.#folder, () => openForWriting(attemptProcesses(root), this.#folder));
  }
}

function explain(thrown: unknown, store: string): Fault {
  const { code } = (thrown instanceof Error ? thrown : {}) as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' ? diskFull(store, thrown) : asFault(thrown);
}

/** How long to wait after a saving that took so long; files that had not changed were no work. */
function restAfter(tookMs: number, bytes: number): number {
  return Math.max(tookMs / shareOfTime, Math.min(tookMs, bytes * workMsPerByte) / shareOfCore);
}
