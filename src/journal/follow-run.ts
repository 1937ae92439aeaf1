import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { mapLimited } from '../base/map-limited.ts';
import { waitForChange } from '../base/wait-for-change.ts';
import { attemptFiles, attemptFolder, runFiles } from '../job/layout.ts';
import { RunFold } from './fold.ts';
import { agentJournals, assertRunFolder } from './load-run.ts';
import type { RunState } from './state.ts';
import { JournalTail } from './tail.ts';

interface Followed {
  job: string;
  attempt: number;
  tail: JournalTail;
  /** The access point says that it is over. */
  over: boolean;
  /** The agent says so too: its journal will not grow. Its last words may come after the access point's. */
  silent: boolean;
}

/** Journals read at once: runs can have more attempts than a process may have files open. */
const readAtOnce = 64;

/** How often files are looked at when nothing told of a change. */
const lookMillis = 1000;

/**
 * The states of a run, from now until it ends: one at once, then one after every change. Reads only what the
 * journals gained. Throws the signal's reason when it aborts.
 */
export async function* followRun(
  runFolder: string,
  { clock, signal }: { clock: Clock; signal?: AbortSignal },
): AsyncGenerator<RunState, void, undefined> {
  await assertRunFolder(runFolder);
  const follower = new Follower(runFolder);
  await follower.findAttempts();
  for (let first = true; ; first = false) {
    const began = clock.monotonic();
    const changed = await follower.read();
    const tookMillis = clock.monotonic() - began;
    const state = follower.state();
    if (changed || first) yield state;
    if (state.endedAt !== undefined) return;
    await waitForChange(follower.livePaths(), lookMillis, clock, signal);
    // Where thousands of agents speak there is always a change: looking takes a fifth of the time, no more.
    await clock.sleep(Math.min(4 * tookMillis, 2 * lookMillis), signal);
  }
}

class Follower {
  readonly #runFolder: string;
  readonly #run: JournalTail;
  readonly #attempts = new Map<string, Followed>();
  #fold = new RunFold();
  readonly #garbled = new Map<string, number>();

  constructor(runFolder: string) {
    this.#runFolder = runFolder;
    this.#run = new JournalTail(path.join(runFolder, runFiles.journal));
  }

  state(): RunState {
    return this.#fold.state(this.#garbled.values().reduce((sum, lines) => sum + lines, 0));
  }

  livePaths(): string[] {
    return [this.#run.path, ...this.#live().map(({ tail }) => tail.path)];
  }

  /** The attempts whose agents may still speak. */
  #live(): Followed[] {
    return [...this.#attempts.values()].filter(({ over, silent }) => !(over && silent));
  }

  /** Finds the attempts that are there already, also those the run's journal does not name. */
  async findAttempts(): Promise<void> {
    for (const { job, attempt } of await agentJournals(this.#runFolder)) this.#follow(job, attempt);
  }

  /** Takes in what the journals gained; says whether that was anything. */
  async read(): Promise<boolean> {
    const run = await this.#run.read();
    this.#count(this.#run, run.garbled, run.restarted);
    if (run.restarted) {
      this.#fold = new RunFold();
      this.#attempts.clear();
      await this.findAttempts();
    }
    for (const entry of run.entries) {
      this.#fold.add(entry);
      if (entry.kind === 'attempt-started') this.#follow(entry.job, entry.attempt);
      if (entry.kind === 'attempt-ended') this.#follow(entry.job, entry.attempt).over = true;
    }
    const heard = await mapLimited(this.#live(), readAtOnce, (one) => this.#readAgent(one));
    return run.entries.length > 0 || run.restarted || heard.includes(true);
  }

  async #readAgent(followed: Followed): Promise<boolean> {
    const { job, attempt, tail } = followed;
    const { entries, garbled, restarted } = await tail.read();
    this.#count(tail, garbled, restarted);
    if (restarted) this.#fold.forgetAgent(job, attempt);
    for (const entry of entries) this.#fold.add(entry);
    if (entries.length > 0 && tail.changedAt !== undefined) this.#fold.heard(job, attempt, tail.changedAt);
    if (entries.some(({ kind }) => kind === 'agent-ended')) followed.silent = true;
    return entries.length > 0 || restarted;
  }

  #follow(job: string, attempt: number): Followed {
    const known = this.#attempts.get(key({ job, attempt }));
    if (known !== undefined) return known;
    const file = path.join(attemptFolder(this.#runFolder, job, attempt), attemptFiles.journal);
    const followed = { job, attempt, tail: new JournalTail(file), over: false, silent: false };
    this.#attempts.set(key(followed), followed);
    return followed;
  }

  #count(tail: JournalTail, garbled: number, restarted: boolean): void {
    this.#garbled.set(tail.path, garbled + (restarted ? 0 : (this.#garbled.get(tail.path) ?? 0)));
  }
}

const key = ({ job, attempt }: { job: string; attempt: number }): string => `${job}/${attempt}`;
