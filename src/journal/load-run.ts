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

/** Entries of a run that stand in none of its journals, such as those a scheduler's log tells. */
export interface EntrySource {
  /** Files whose change tells of news. */
  readonly paths: readonly string[];
  read(): Promise<SourceUpdate>;
}

/** What a source has to tell since it was last read. */
export interface SourceUpdate {
  /** Of the access point, and what agents said on another way than their journals, which count more. */
  entries: Entry[];
  garbled: number;
  /** What is wrong with the source itself, as long as it is. */
  trouble?: AccountTrouble | undefined;
}

/** Journals read at once: runs can have more attempts than a process may have files open. */
const maxOpenFiles = 64;

/** The state of the run in a folder, from its journals and, where its pool keeps a log of its own, from that. */
export async function loadRun(runFolder: string, source?: EntrySource): Promise<RunState> {
  await assertRunFolder(runFolder);
  const run = await readJournal(path.join(runFolder, runFiles.journal));
  const attempts = await mapLimited(await agentJournals(runFolder), maxOpenFiles, async (attempt) => ({
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

/** Throws a Fault unless the folder is that of a run. */
export async function assertRunFolder(runFolder: string): Promise<void> {
  const found = await stat(path.join(runFolder, runFiles.journal)).catch(() => undefined);
  if (found?.isFile() === true) return;
  throw new Fault('usage', `${runFolder} is not the folder of a run: it has no ${runFiles.journal}`, {
    about: runFolder,
    fix: 'name a folder that `updraft submit` or `updraft run` made, for example runs/NAME-ID',
  });
}

/** The journals of all attempts there are by now. */
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
 * The run's journal and the journals of its attempts as one list in the order in which things must have happened:
 * the access point's entries in their own order, an attempt's entries in theirs, and each attempt's between the
 * access point's entries that start and end it. Clocks are not looked at: those of two machines may be hours apart.
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
    // A job has one attempt at a time: the next start, too, is proof that the one before is over.
    if ('job' in entry) emit(open.get(entry.job));
    if (entry.kind === 'attempt-ended') emit(attemptKey(entry));
    if (entry.kind === 'attempt-started') open.set(entry.job, attemptKey(entry));
    if (entry.kind === 'run-ended') for (const attempt of open.values()) emit(attempt);
    merged.push(entry);
  }
  for (const attempt of [...waiting.keys()].sort(numerically)) emit(attempt);
  return merged;
}

/** Names an attempt among those of a run. */
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
