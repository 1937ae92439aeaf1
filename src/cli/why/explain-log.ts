import { firstFew, printable } from '@updraft/base';
import type { LogEvent, LogSource } from '@updraft/htcondor/eventlog';
import { Fault } from '@updraft/account/fault';
import {
  hasNumber,
  type HistoryOptions,
  idParts,
  type JobHistory,
  readAds,
  readHistory,
  type ReadHistory,
} from '@updraft/account/history';
import { noEventsFault } from '@updraft/account/report';

/** Logs of more bytes are read without the lines of their evidence, unless something shows these. */
const manyBytes = 16_000_000;

/**
 * The jobs of event logs or of ads in long form, to be explained; with `12.3`, `12` for a cluster, or a DAG node, only
 * those. A few jobs have their evidence with its lines; of many, only with `isQuoted`.
 */
export async function jobsToExplain(
  sources: readonly LogSource[],
  word: string | undefined,
  options: ReadingOptions,
): Promise<{ jobs: JobHistory[]; hasLogs: boolean }> {
  const logs: LogSource[] = [];
  const fromAds: JobHistory[] = [];
  for (const source of sources) {
    const ads = await readAds(source);
    if (ads === undefined) logs.push(source);
    else fromAds.push(...ads.map((job) => (sources.length > 1 ? { ...job, log: source.name } : job)));
  }
  const chosen = word === undefined ? fromAds : fromAds.filter((job) => isNamedJob(job, word));
  if (logs.length > 0)
    return { jobs: [...(await jobsOfLogs(logs, word, options)), ...chosen], hasLogs: true };
  if (chosen.length > 0) return { jobs: chosen, hasLogs: false };
  throw new ChosenJobs(word ?? '').fault(
    firstFew(
      sources.map(({ name }) => printable(name)),
      maxNamed,
    ),
  );
}

interface ReadingOptions extends Pick<HistoryOptions, 'ofDag'> {
  signal: AbortSignal;
  isQuoted: boolean;
}

const isNamedJob = (job: JobHistory, word: string): boolean => job.node === word || hasNumber(job, word);

async function jobsOfLogs(
  sources: readonly LogSource[],
  word: string | undefined,
  { signal, isQuoted, ofDag }: ReadingOptions,
): Promise<JobHistory[]> {
  const chosen = word === undefined ? undefined : new ChosenJobs(word);
  const read = (isPlaceEnough: boolean): Promise<ReadHistory> =>
    readHistory(sources, { evidence: true, isPlaceEnough, only: chosen?.has, signal, ofDag });
  const bytes = sources.reduce((sum, { size = NaN }) => sum + size, 0);
  const isPlaceEnough = chosen === undefined && !isQuoted && bytes > manyBytes;
  let history = await read(isPlaceEnough);
  if (chosen?.isIncomplete === true) {
    chosen.readAgain();
    history = await read(false);
  }
  if (isPlaceEnough && history.jobs.length === 1) history = await read(false);
  if (history.jobs.length > 0 || ofDag !== undefined) return chosen?.ofNode(history.jobs) ?? history.jobs;
  const names = [...new Set(sources.map(({ name }) => name))];
  throw chosen !== undefined && history.facts.events > 0
    ? chosen.fault(firstFew(names.map(printable), maxNamed))
    : noJobs(names, history);
}

const maxNamed = 8;

function noJobs(names: readonly string[], { facts, garbledBytes, garbledStart }: ReadHistory): Fault {
  const logs = firstFew(names.map(printable), maxNamed);
  if (facts.events > 0)
    return new Fault('file-invalid', `the events in ${logs} belong to no job`, { about: logs });
  if (garbledBytes > 0) return noEventsFault(names, garbledStart);
  return new Fault('file-invalid', `${logs} is empty: its jobs have not been submitted yet`, {
    about: logs,
    fix: 'wait until the jobs are submitted, or name the event log in their submit file',
  });
}

/**
 * Selects the events of the jobs that a user names, as a log is read: `12.3`, `12` for a cluster, or a DAG node, whose
 * clusters are all one job. Nothing is kept of other jobs but the ids of nodes.
 */
class ChosenJobs {
  readonly #word: string;
  readonly #cluster: number;
  readonly #proc: number | undefined;
  readonly #nodes = new Map<string, string[]>();
  readonly #ids = new Set<string>();
  #areNodesKnown = false;
  /** Whether a chosen job is a node, of which earlier clusters were passed over. */
  isIncomplete = false;

  constructor(word: string) {
    const { cluster = NaN, proc } = idParts(word) ?? {};
    this.#word = word;
    this.#cluster = cluster;
    this.#proc = proc;
  }

  readonly has = (event: LogEvent): boolean => {
    if (event.kind === 'submit' && !this.#areNodesKnown) this.#learn(event);
    return this.#isNamed(event) || (this.#ids.size > 0 && this.#ids.has(idOf(event)));
  };

  /** The logs are read again: now all clusters of the chosen nodes are known. */
  readAgain(): void {
    this.#areNodesKnown = true;
  }

  /** Of the jobs of a node, the one that is named, if one is. */
  ofNode(jobs: JobHistory[]): JobHistory[] {
    const found = jobs.filter((job) => isNamedJob(job, this.#word));
    return found.length === 0 ? jobs : found;
  }

  /** Why nothing was found. */
  fault(logs: string): Fault {
    if (Number.isNaN(this.#cluster))
      return new Fault('usage', `"${printable(this.#word)}" names no job and no DAG node in ${logs}`, {
        about: this.#word,
        fix: 'name a job like 12.3, a cluster like 12, or a DAG node; to see all jobs, leave it out',
      });
    return new Fault('usage', `there is no job ${printable(this.#word)} in ${logs}`, {
      about: this.#word,
      fix: 'to see all jobs, leave out the job',
    });
  }

  #learn(event: LogEvent & { kind: 'submit' }): void {
    const { dagNode } = event.details;
    if (dagNode === undefined) return;
    const ids = this.#nodes.get(dagNode) ?? [];
    const isNew = !ids.some((id) => this.#ids.has(id));
    ids.push(idOf(event));
    this.#nodes.set(dagNode, ids);
    if (isNew && dagNode !== this.#word && !this.#isNamed(event)) return;
    if (isNew && ids.length > 1) this.isIncomplete = true;
    for (const id of ids) this.#ids.add(id);
  }

  #isNamed({ cluster, proc }: LogEvent): boolean {
    return this.#cluster === cluster && (this.#proc === undefined || this.#proc === proc);
  }
}

const idOf = ({ cluster, proc }: LogEvent): string => `${cluster}.${proc}`;
