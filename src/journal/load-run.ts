import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '../base/map-limited.ts';
import { Fault } from '../fault/fault.ts';
import { attemptFiles, runFiles } from '../job/layout.ts';
import { isAgentEntry } from './codec.ts';
import type { EntrySource } from './entry-source.ts';
import type { RunEntry } from './entry.ts';
import { RunFold } from './fold.ts';
import { attemptKey, merge } from './merge.ts';
import { readJournal } from './read-journal.ts';
import type { RunState } from './state.ts';

/** Journals read at once: runs can have more attempts than a process may have files open. */
const readAtOnce = 64;

/** The state of the run in a folder, from its journals and, where its pool keeps a log of its own, from that. */
export async function loadRun(runFolder: string, source?: EntrySource): Promise<RunState> {
  await assertRunFolder(runFolder);
  const run = await readJournal(path.join(runFolder, runFiles.journal));
  const attempts = await mapLimited(await agentJournals(runFolder), readAtOnce, async (attempt) => ({
    ...attempt,
    journal: await readJournal(attempt.path),
  }));
  const news = await source?.read();
  const heard = new Set(attempts.filter(({ journal }) => journal.entries.length > 0).map(attemptKey));
  const told = news?.entries.filter(isAgentEntry).filter((entry) => !heard.has(attemptKey(entry))) ?? [];
  const agents = [told, ...attempts.map(({ journal }) => journal.entries.filter(isAgentEntry))];
  const runEntries = [...run.entries, ...(news?.entries ?? [])].filter(
    (entry): entry is RunEntry => !isAgentEntry(entry),
  );
  const folding = new RunFold();
  for (const entry of merge(runEntries, agents)) folding.add(entry);
  for (const { job, attempt, journal } of attempts)
    if (journal.changedAt !== undefined) folding.heard(job, attempt, journal.changedAt);
  const garbled = run.garbled + (news?.garbled ?? 0);
  return folding.state(
    attempts.reduce((sum, { journal }) => sum + journal.garbled, garbled),
    news?.trouble,
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
  const perJob = await mapLimited(await namesIn(jobs), readAtOnce, async (job) => {
    const names = await namesIn(path.join(jobs, job));
    return names.flatMap((name) => {
      const attempt = Number(/^attempt-(\d+)$/.exec(name)?.[1]);
      if (Number.isNaN(attempt)) return [];
      return [{ job, attempt, path: path.join(jobs, job, name, attemptFiles.journal) }];
    });
  });
  return perJob.flat();
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.sort();
}
