import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { attemptFiles, runFiles } from '../job/layout.ts';
import { isAgentEntry } from './codec.ts';
import type { AgentEntry, Entry, RunEntry } from './entry.ts';
import { foldAgentEntries } from './fold-agent.ts';
import { RunFold } from './fold.ts';
import type { AccountTrouble, AgentState, Damage, RunState } from './state.ts';
import { JournalTail, readJournal, readWhole } from './tail.ts';

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
  /** What could not be read of it so far. */
  damaged?: Damage[] | undefined;
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
  journals: readonly AttemptJournal[],
  source: EntrySource | undefined,
): Promise<RunState> {
  await assertRunFolder(runFolder);
  const tail = new JournalTail(path.join(runFolder, runFiles.journal));
  const own: Entry[] = [];
  await readWhole(tail, (entries) => void own.push(...entries));
  const attempts = await mapLimited(journals, maxOpenFiles, readAttempt);
  const update = await source?.read();
  const withJournal = new Set(attempts.filter(({ isEmpty }) => !isEmpty).map(attemptKey));
  const reported =
    update?.entries.filter(isAgentEntry).filter((entry) => !withJournal.has(attemptKey(entry))) ?? [];
  const folded = attempts.flatMap(({ job, attempt, agent }) =>
    agent === undefined ? [] : [{ job, attempt, seq: 0, agent }],
  );
  const isFolded = new Set(folded.map(attemptKey));
  const loose = [...reported, ...attempts.flatMap((one) => one.loose)];
  const agents = [folded, loose.filter((entry) => !isFolded.has(attemptKey(entry)))];
  const runEntries = [...own, ...(update?.entries ?? [])].filter(
    (entry): entry is RunEntry => !isAgentEntry(entry),
  );
  const folding = new RunFold();
  for (const one of merge<AgentEntry | { job: string; attempt: number; seq: number; agent: AgentState }>(
    runEntries,
    agents,
  ))
    if ('agent' in one) folding.setAgent(one.job, one.attempt, one.agent);
    else folding.add(one);
  for (const { job, attempt, tail: read } of attempts)
    if (read.changedAt !== undefined) folding.journalGrew(job, attempt, read.changedAt);
  const tails = [tail, ...attempts.map((one) => one.tail)];
  return folding.state([...damageOf(runFolder, tails), ...(update?.damaged ?? [])], update?.trouble);
}

/** What could not be read of these journals. */
export const damageOf = (runFolder: string, tails: readonly JournalTail[]): Damage[] =>
  tails.flatMap(({ path: file, damage }) =>
    damage === undefined ? [] : [{ file: path.relative(runFolder, file), ...damage }],
  );

interface ReadAttempt {
  job: string;
  attempt: number;
  isEmpty: boolean;
  tail: JournalTail;
  /** Its agent, if the journal is as an agent writes it: no other's entries, in the order of their numbers. */
  agent?: AgentState | undefined;
  /** Otherwise the entries, to be put in order first. */
  loose: AgentEntry[];
}

/** Reads an attempt's journal and folds it meanwhile: all reports of a large sweep would not fit in memory. */
async function readAttempt({ job, attempt, path: file }: AttemptJournal): Promise<ReadAttempt> {
  const tail = new JournalTail(file);
  const read = { job, attempt, tail, isEmpty: true };
  const order = { isKept: true, last: 0 };
  let agent: AgentState | undefined;
  await readWhole(tail, (entries) => {
    if (entries.length > 0) read.isEmpty = false;
    const own = entries.filter(isAgentEntry);
    for (const entry of own) {
      order.isKept &&= entry.job === job && entry.attempt === attempt && entry.seq >= order.last;
      order.last = entry.seq;
    }
    if (order.isKept) agent = foldAgentEntries(agent, own);
  });
  if (order.isKept) return { ...read, agent, loose: [] };
  return { ...read, loose: (await readJournal(file)).entries.filter(isAgentEntry) };
}

export async function assertRunFolder(runFolder: string): Promise<void> {
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

export async function agentJournals(runFolder: string): Promise<AttemptJournal[]> {
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
export function merge<Item extends Pick<AgentEntry, 'job' | 'attempt' | 'seq'>>(
  run: readonly RunEntry[],
  agents: readonly (readonly Item[])[],
): (RunEntry | Item)[] {
  const waiting = byAttempt(agents.flat());
  const merged: (RunEntry | Item)[] = [];
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

function byAttempt<Item extends Pick<AgentEntry, 'job' | 'attempt' | 'seq'>>(
  entries: readonly Item[],
): Map<string, Item[]> {
  const attempts = new Map<string, Item[]>();
  for (const entry of entries) {
    const same = attempts.get(attemptKey(entry));
    if (same === undefined) attempts.set(attemptKey(entry), [entry]);
    else same.push(entry);
  }
  for (const same of attempts.values()) same.sort((a, b) => a.seq - b.seq);
  return attempts;
}
