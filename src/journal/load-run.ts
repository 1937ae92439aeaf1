import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '../base/map-limited.ts';
import { Fault } from '../fault/fault.ts';
import { attemptFiles, runFiles } from '../job/layout.ts';
import { isAgentEntry } from './codec.ts';
import type { AgentEntry, Entry, RunEntry } from './entry.ts';
import { RunFold } from './fold.ts';
import type { AccountTrouble, RunState } from './state.ts';
import { readJournal } from './tail.ts';

/** Entries of a run from outside its journals, such as from a scheduler's log. */
export interface EntrySource {
  /** Files to watch for changes. */
  readonly paths: readonly string[];
  read(): Promise<SourceUpdate>;
}

/** What is new in a source since it was last read. */
export interface SourceUpdate {
  /** Entries of the access point, and those that agents sent outside their journals, which take precedence. */
  entries: Entry[];
  garbled: number;
  /** What is wrong with the source itself, while it is. */
  trouble?: AccountTrouble | undefined;
}

/** Journals read at the same time: a run can have more attempts than a process may open files. */
const maxOpenFiles = 64;

/** The state of the run in a folder, from its journals and, if its pool has one, the pool's log. */
export async function loadRun(runFolder: string, source?: EntrySource): Promise<RunState> {
  return await loadFrom(runFolder, await agentJournals(runFolder), source);
}

/** The same without the attempts' own journals: how far each job is, but not what its attempt does. */
export async function loadOutline(runFolder: string, source?: EntrySource): Promise<RunState> {
  return await loadFrom(runFolder, [], source);
}

async function loadFrom(
  runFolder: string,
  journals: Awaited<ReturnType<typeof agentJournals>>,
  source: EntrySource | undefined,
): Promise<RunState> {
  await assertRunFolder(runFolder);
  const run = await readJournal(path.join(runFolder, runFiles.journal));
  const attempts = await mapLimited(journals, maxOpenFiles, async (attempt) => ({
    ...attempt,
    journal: await readJournal(attempt.path),
  }));
  const update = await source?.read();
  const withJournal = new Set(attempts.filter(({ journal }) => journal.entries.length > 0).map(attemptKey));
  const reported =
    update?.entries.filter(isAgentEntry).filter((entry) => !withJournal.has(attemptKey(entry))) ?? [];
  const agents = [reported, ...attempts.map(({ journal }) => journal.entries.filter(isAgentEntry))];
  const runEntries = [...run.entries, ...(update?.entries ?? [])].filter(
    (entry): entry is RunEntry => !isAgentEntry(entry),
  );
  const folding = new RunFold();
  for (const entry of merge(runEntries, agents)) folding.add(entry);
  for (const { job, attempt, journal } of attempts)
    if (journal.changedAt !== undefined) folding.journalGrew(job, attempt, journal.changedAt);
  const garbled = run.garbled + (update?.garbled ?? 0);
  return folding.state(
    attempts.reduce((sum, { journal }) => sum + journal.garbled, garbled),
    update?.trouble,
  );
}

/** Throws a Fault if the folder is not a run's. */
export async function assertRunFolder(runFolder: string): Promise<void> {
  const found = await stat(path.join(runFolder, runFiles.journal)).catch(() => undefined);
  if (found?.isFile() === true) return;
  throw new Fault('usage', `${runFolder} is not a run folder: it has no ${runFiles.journal}`, {
    about: runFolder,
    fix: 'name a folder that `updraft submit` or `updraft run` made, for example runs/NAME-ID',
  });
}

/** The journals of all attempts so far. */
export async function agentJournals(
  runFolder: string,
): Promise<{ job: string; attempt: number; path: string }[]> {
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

/**
 * Merges the run's journal and those of its attempts in the order in which things must have happened: each journal
 * keeps its own order, and an attempt's entries come between those of the access point that start and end it. Clocks
 * are ignored: those of two machines may be hours apart.
 */
export function merge(run: readonly RunEntry[], agents: readonly (readonly AgentEntry[])[]): Entry[] {
  const waiting = byAttempt(agents.flat());
  const merged: Entry[] = [];
  /** The attempt under way, per job. */
  const open = new Map<string, string>();
  const emit = (attempt: string | undefined) => {
    if (attempt === undefined) return;
    for (const entry of waiting.get(attempt) ?? []) merged.push(entry);
    waiting.delete(attempt);
  };
  for (const entry of run) {
    // A job has one attempt at a time, so the next start also proves that the previous attempt is over.
    if ('job' in entry) emit(open.get(entry.job));
    if (entry.kind === 'attempt-ended') emit(attemptKey(entry));
    if (entry.kind === 'attempt-started') open.set(entry.job, attemptKey(entry));
    if (entry.kind === 'run-ended') for (const attempt of open.values()) emit(attempt);
    merged.push(entry);
  }
  for (const attempt of [...waiting.keys()].sort(numerically)) emit(attempt);
  return merged;
}

/** Identifies an attempt within a run. */
export const attemptKey = ({ job, attempt }: { job: string; attempt: number }): string => `${job}/${attempt}`;

const numerically = new Intl.Collator('en', { numeric: true }).compare;

function byAttempt(entries: readonly AgentEntry[]): Map<string, AgentEntry[]> {
  const attempts = new Map<string, AgentEntry[]>();
  for (const entry of entries) {
    const same = attempts.get(attemptKey(entry));
    if (same === undefined) attempts.set(attemptKey(entry), [entry]);
    else same.push(entry);
  }
  for (const same of attempts.values()) same.sort((a, b) => a.seq - b.seq);
  return attempts;
}
