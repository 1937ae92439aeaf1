import path from 'node:path';
import { type Clock, isThere, mapLimited } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { Fault } from '../fault/fault.ts';
import { attemptFiles, attemptFolder, runFiles } from '../job/layout.ts';
import { isAgentEntry } from './codec.ts';
import type { Entry } from './entry.ts';
import { RunFold } from './fold.ts';
import { agentJournals, assertRunFolder, attemptKey, damageOf, type EntrySource } from './load-run.ts';
import type { AccountTrouble, Damage, RunState } from './state.ts';
import { JournalTail } from './tail.ts';

interface FollowedAttempt {
  job: string;
  attempt: number;
  tail: JournalTail;
  /** The access point has recorded its end. */
  over: boolean;
  /** Its journal has entries. */
  spoken: boolean;
  /** Its agent has recorded the end too, perhaps later than the access point: the journal will not grow. */
  silent: boolean;
}

/** A run can have more attempts than a process may open files. */
const maxParallel = 64;
/** How often files are read if no change was reported. */
const pollMs = 1000;

/**
 * The states of a run from now until it ends: the current one, then one after every change. Reads only what was
 * appended to the journals. Throws the signal's reason when it aborts, and a Fault once the folder is gone.
 */
export async function* followRun(
  runFolder: string,
  { clock, signal, source }: { clock: Clock; signal?: AbortSignal; source?: EntrySource | undefined },
): AsyncGenerator<RunState, void, undefined> {
  await assertRunFolder(runFolder);
  const follower = new Follower(runFolder, source, clock);
  await follower.findAttempts();
  for (let first = true; ; first = false) {
    const began = clock.monotonic();
    const changed = await follower.read();
    const tookMillis = clock.monotonic() - began;
    const state = follower.state();
    if (changed || first) yield state;
    if (state.endedAt !== undefined) return;
    if (!(await isThere(path.join(runFolder, runFiles.journal)))) throw folderGone(runFolder);
    await waitForChange(follower.livePaths(), pollMs, clock, signal);
    // Thousands of agents cause constant changes: spend no more than a fifth of the time reading.
    await clock.sleep(Math.min(4 * tookMillis, 2 * pollMs), signal);
  }
}

const folderGone = (runFolder: string): Fault =>
  new Fault('interrupted', `${runFolder} is gone: it was removed or moved away while the run went on`, {
    about: runFolder,
    fix: 'if you moved it, continue with `updraft submit FOLDER`; a local run ends with its folder, but HTCondor and Slurm keep their jobs: remove those with `condor_rm` or `scancel`',
  });

/** A file that just grew was written now; a date far from now means that a clock was set. */
const saneDate = (date: number | undefined, now: number): number | undefined =>
  date === undefined || Math.abs(date - now) < 10 * pollMs ? date : now;

class Follower {
  readonly #clock: Clock;
  readonly #runFolder: string;
  readonly #run: JournalTail;
  readonly #source: EntrySource | undefined;
  readonly #attempts = new Map<string, FollowedAttempt>();
  #fold = new RunFold();
  #sourceDamage: Damage[] = [];
  #trouble: AccountTrouble | undefined;
  /** Kept, because the run's journal may start over while the source does not. */
  #fromJournal: Entry[] = [];
  #fromSource: Entry[] = [];

  constructor(runFolder: string, source: EntrySource | undefined, clock: Clock) {
    this.#clock = clock;
    this.#runFolder = runFolder;
    this.#source = source;
    this.#run = new JournalTail(path.join(runFolder, runFiles.journal));
  }

  state(): RunState {
    const tails = [this.#run, ...this.#attempts.values().map(({ tail }) => tail)];
    return this.#fold.state([...damageOf(this.#runFolder, tails), ...this.#sourceDamage], this.#trouble);
  }

  livePaths(): string[] {
    return [this.#run.path, ...(this.#source?.paths ?? []), ...this.#live().map(({ tail }) => tail.path)];
  }

  /** The attempts whose journals may still grow. */
  #live(): FollowedAttempt[] {
    return [...this.#attempts.values()].filter(({ over, silent }) => !(over && silent));
  }

  /** Finds the attempts that exist already, also those missing in the run's journal. */
  async findAttempts(): Promise<void> {
    for (const { job, attempt } of await agentJournals(this.#runFolder)) this.#follow(job, attempt);
  }

  /** Reads what was appended to the journals; returns whether anything was. */
  async read(): Promise<boolean> {
    const run = await this.#run.read();
    const news = (await this.#source?.read()) ?? { entries: [] };
    this.#sourceDamage = news.damaged ?? [];
    this.#fromJournal = run.restarted ? run.entries : this.#fromJournal.concat(run.entries);
    this.#fromSource = this.#fromSource.concat(news.entries);
    const troubled = this.#trouble?.message !== news.trouble?.message;
    this.#trouble = news.trouble;
    if (run.restarted) {
      this.#fold = new RunFold();
      this.#attempts.clear();
      await this.findAttempts();
    }
    const fresh = run.restarted
      ? this.#fromJournal.concat(this.#fromSource)
      : run.entries.concat(news.entries);
    for (const entry of fresh) this.#add(entry);
    const changed = await mapLimited(this.#live(), maxParallel, (one) => this.#readAgent(one));
    return run.restarted || troubled || fresh.length > 0 || changed.includes(true);
  }

  #add(entry: Entry): void {
    // An agent's own journal takes precedence over what it reported otherwise.
    if (isAgentEntry(entry) && this.#follow(entry.job, entry.attempt).spoken) return;
    this.#fold.add(entry);
    if (entry.kind === 'attempt-started') {
      this.#follow(entry.job, entry.attempt);
      if (entry.was !== undefined) this.#attempts.delete(attemptKey({ job: entry.job, attempt: entry.was }));
    }
    if (entry.kind === 'attempt-ended') this.#follow(entry.job, entry.attempt).over = true;
  }

  async #readAgent(followed: FollowedAttempt): Promise<boolean> {
    const { job, attempt, tail } = followed;
    const hasSpoken = followed.spoken;
    let isChanged = false;
    await tail.readParts(({ entries, restarted }) => {
      if (restarted || (entries.length > 0 && !followed.spoken)) this.#fold.forgetAgent(job, attempt);
      isChanged ||= entries.length > 0 || restarted;
      if (entries.length === 0) return;
      followed.spoken = true;
      this.#fold.addAll(entries);
      const heardAt = hasSpoken ? saneDate(tail.changedAt, this.#clock.now()) : tail.changedAt;
      if (heardAt !== undefined) this.#fold.journalGrew(job, attempt, heardAt);
      if (entries.some(({ kind }) => kind === 'agent-ended')) followed.silent = true;
    });
    return isChanged;
  }

  #follow(job: string, attempt: number): FollowedAttempt {
    const known = this.#attempts.get(attemptKey({ job, attempt }));
    if (known !== undefined) return known;
    const file = path.join(attemptFolder(this.#runFolder, job, attempt), attemptFiles.journal);
    const followed: FollowedAttempt = {
      job,
      attempt,
      tail: new JournalTail(file),
      over: false,
      spoken: false,
      silent: false,
    };
    this.#attempts.set(attemptKey(followed), followed);
    return followed;
  }
}
