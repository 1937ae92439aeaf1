import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, isThere, mapLimited } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { Fault } from '../fault/fault.ts';
import { attemptFiles, attemptFolder, runFiles } from './layout.ts';
import { isAgentEntry } from './codec.ts';
import type { Entry } from './entry.ts';
import { RunFold, type RunFoldOptions } from './fold.ts';
import type { AccountTrouble, Damage, Observation, RunState } from './state.ts';
import { type JournalGrowth, JournalTail, readWhole } from './tail.ts';

/** Entries of a run from outside its journals, such as from a scheduler's log. */
export interface EntrySource {
  /** Files to watch for changes. */
  readonly paths: readonly string[];
  read(): Promise<SourceUpdate>;
}

/** What is new in a source since it was last read. */
export interface SourceUpdate {
  /** What happened by the access point, and entries that agents sent outside their journals, which take precedence. */
  entries: Observation[];
  /** What could not be read of it so far. */
  damaged?: Damage[] | undefined;
  /** What is wrong with the source itself, while it is. */
  trouble?: AccountTrouble | undefined;
}

/** What is known of a run besides its journals. */
interface RunSources extends Pick<RunFoldOptions, 'plannedFor'> {
  source?: EntrySource | undefined;
}

/** Journals read at the same time: a run can have more attempts than a process may open files. */
const maxOpenFiles = 64;
/** How often files are read if no change was reported. */
const pollMs = 1000;

/** The state of the run in a folder, from its journals and, if its pool has one, the pool's log. */
export const loadRun = (runFolder: string, options?: RunSources): Promise<RunState> =>
  load(new RunReader(runFolder, { ...options }));

/** The same without the attempts' own journals: how far each job is, but not what its attempt does. */
export const loadOutline = (runFolder: string, options?: RunSources): Promise<RunState> =>
  load(new RunReader(runFolder, { ...options, isOutline: true }));

async function load(reader: RunReader): Promise<RunState> {
  await reader.open();
  await reader.read();
  return reader.state();
}

/**
 * The states of a run from now until it ends: the current one, then one after every change. Reads only what was
 * appended to the journals. Throws the signal's reason when it aborts, and a Fault once the folder is gone.
 */
export async function* followRun(
  runFolder: string,
  { signal, clock, ...sources }: RunSources & { clock: Clock; signal?: AbortSignal },
): AsyncGenerator<RunState, void, undefined> {
  const reader = new RunReader(runFolder, { ...sources, clock });
  await reader.open();
  for (let first = true; ; first = false) {
    const began = clock.monotonic();
    const changed = await reader.read();
    const tookMillis = clock.monotonic() - began;
    const state = reader.state();
    if (changed || first) yield state;
    if (state.endedAt !== undefined) return;
    if (!(await isThere(path.join(runFolder, runFiles.journal)))) throw folderGone(runFolder);
    await waitForChange(reader.livePaths(), pollMs, clock, signal);
    // Thousands of agents cause constant changes: spend no more than a fifth of the time reading.
    await clock.sleep(Math.min(4 * tookMillis, 2 * pollMs), signal);
  }
}

const folderGone = (runFolder: string): Fault =>
  new Fault('interrupted', `${runFolder} is gone: it was removed or moved away while the run went on`, {
    about: runFolder,
    fix:
      'if you moved it, continue with `updraft submit FOLDER`; a local run ends with its folder, ' +
      'but HTCondor and Slurm keep their jobs: remove those with `condor_rm` or `scancel`',
  });

/** A file that just grew was written now; a date far from now means that a clock was set. */
const saneDate = (date: number | undefined, now = date): number | undefined =>
  date === undefined || now === undefined || Math.abs(date - now) < 10 * pollMs ? date : now;

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

interface ReadingOptions extends RunSources {
  /** To follow the run: without it, the journals are complete, and a last line may lack its line end. */
  clock?: Clock;
  /** Without the attempts' own journals. */
  isOutline?: boolean;
}

/** Reads the journals of a run, and again what was appended to them. */
class RunReader {
  readonly #clock: Clock | undefined;
  readonly #isOutline: boolean;
  readonly #runFolder: string;
  readonly #run: JournalTail;
  readonly #source: EntrySource | undefined;
  readonly #attempts = new Map<string, FollowedAttempt>();
  readonly #plannedFor: RunFoldOptions['plannedFor'];
  #fold: RunFold;
  #sourceDamage: Damage[] = [];
  #trouble: AccountTrouble | undefined;
  /** Kept, because the run's journal may start over while the source does not. */
  #fromJournal: Entry[] = [];
  #fromSource: Observation[] = [];

  constructor(runFolder: string, { source, clock, plannedFor, isOutline = false }: ReadingOptions) {
    this.#clock = clock;
    this.#plannedFor = plannedFor;
    this.#fold = new RunFold({ plannedFor });
    this.#isOutline = isOutline;
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
    if (this.#isOutline) return [];
    return [...this.#attempts.values()].filter(({ over, silent }) => !(over && silent));
  }

  async open(): Promise<void> {
    await assertRunFolder(this.#runFolder);
    await this.#findAttempts();
  }

  /** Finds the attempts that exist already, also those missing in the run's journal. */
  async #findAttempts(): Promise<void> {
    for (const { job, attempt } of await agentJournals(this.#runFolder)) this.#follow(job, attempt);
  }

  /** Reads what was appended to the journals; returns whether anything was. */
  async read(): Promise<boolean> {
    const run: JournalGrowth = { entries: [], restarted: false };
    await this.#readTail(this.#run, ({ entries, restarted }) => {
      run.entries.push(...entries);
      run.restarted ||= restarted;
    });
    const news = (await this.#source?.read()) ?? { entries: [] };
    this.#sourceDamage = news.damaged ?? [];
    this.#fromJournal = run.restarted ? run.entries : this.#fromJournal.concat(run.entries);
    this.#fromSource = this.#fromSource.concat(news.entries);
    const troubled = this.#trouble?.message !== news.trouble?.message;
    this.#trouble = news.trouble;
    if (run.restarted) {
      this.#fold = new RunFold({ plannedFor: this.#plannedFor });
      this.#attempts.clear();
      await this.#findAttempts();
    }
    const fresh: Observation[] = run.restarted
      ? [...this.#fromJournal, ...this.#fromSource]
      : [...run.entries, ...news.entries];
    for (const entry of fresh) this.#add(entry);
    const changed = await mapLimited(this.#live(), maxOpenFiles, (one) => this.#readAgent(one));
    return run.restarted || troubled || fresh.length > 0 || changed.includes(true);
  }

  #readTail(tail: JournalTail, take: (grown: JournalGrowth) => void): Promise<void> {
    if (this.#clock !== undefined) return tail.readParts(take);
    return readWhole(tail, (entries) => take({ entries, restarted: false }));
  }

  #add(entry: Observation): void {
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
    await this.#readTail(tail, ({ entries, restarted }) => {
      if (restarted || (entries.length > 0 && !followed.spoken)) this.#fold.forgetAgent(job, attempt);
      isChanged ||= entries.length > 0 || restarted;
      if (entries.length === 0) return;
      followed.spoken = true;
      this.#fold.addAll(entries);
      const heardAt = hasSpoken ? saneDate(tail.changedAt, this.#clock?.now()) : tail.changedAt;
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

/** What could not be read of these journals. */
export const damageOf = (runFolder: string, tails: readonly JournalTail[]): Damage[] =>
  tails.flatMap(({ path: file, damage }) =>
    damage === undefined ? [] : [{ file: path.relative(runFolder, file), ...damage }],
  );

async function assertRunFolder(runFolder: string): Promise<void> {
  const found = await stat(path.join(runFolder, runFiles.journal)).catch(() => undefined);
  if (found?.isFile() === true) return;
  throw new Fault('usage', `${runFolder} is not a run folder: it has no ${runFiles.journal}`, {
    about: runFolder,
    fix: 'name a folder that `updraft submit` or `updraft run` made, for example runs/NAME-ID',
  });
}

interface AttemptJournal {
  job: string;
  attempt: number;
  path: string;
}

async function agentJournals(runFolder: string): Promise<AttemptJournal[]> {
  const jobs = path.join(runFolder, runFiles.jobs);
  const perJob = await mapLimited(await listNames(jobs), maxOpenFiles, async (job) => {
    const names = await listNames(path.join(jobs, job));
    return names.flatMap((name) => {
      const attempt = Number(/^attempt-(\d+)$/.exec(name)?.[1]);
      if (Number.isNaN(attempt)) return [];
      return [{ job, attempt, path: path.join(jobs, job, name, attemptFiles.journal) }];
    });
  });
  return perJob.flat();
}

async function listNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.sort();
}

/** Identifies an attempt within a run. */
const attemptKey = ({ job, attempt }: { job: string; attempt: number }): string => `${job}/${attempt}`;
