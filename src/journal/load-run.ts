import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../fault/fault.ts';
import { attemptFiles, runFiles } from '../job/layout.ts';
import { isAgentEntry } from './codec.ts';
import type { AgentEntry, RunEntry } from './entry.ts';
import { RunFold } from './fold.ts';
import { merge } from './merge.ts';
import { readJournal } from './read-journal.ts';
import type { RunState } from './state.ts';

/** The state of the run in a folder, from its journals alone. */
export async function loadRun(runFolder: string): Promise<RunState> {
  await assertRunFolder(runFolder);
  const run = await readJournal(path.join(runFolder, runFiles.journal));
  const agents: AgentEntry[][] = [];
  const folding = new RunFold();
  let garbled = run.garbled;
  for (const { job, attempt, path: file } of await agentJournals(runFolder)) {
    const journal = await readJournal(file);
    garbled += journal.garbled;
    agents.push(journal.entries.filter(isAgentEntry));
    if (journal.changedAt !== undefined) folding.heard(job, attempt, journal.changedAt);
  }
  const runEntries = run.entries.filter((entry): entry is RunEntry => !isAgentEntry(entry));
  for (const entry of merge(runEntries, agents)) folding.add(entry);
  return folding.state(garbled);
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
  const found: { job: string; attempt: number; path: string }[] = [];
  for (const job of await namesIn(jobs))
    for (const name of await namesIn(path.join(jobs, job))) {
      const attempt = /^attempt-(\d+)$/.exec(name)?.[1];
      if (attempt === undefined) continue;
      found.push({
        job,
        attempt: Number(attempt),
        path: path.join(jobs, job, name, attemptFiles.journal),
      });
    }
  return found;
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.sort();
}
