import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { firstFew, nearest, printable, shellQuote } from '@updraft/base';
import { type Document, joinPages } from '@updraft/view/document';
import { dagmanEnds } from '@updraft/htcondor/dag';
import {
  type ExplainedGroup,
  explainNodes,
  explainReasons,
  explainStory,
  type Explanation,
  explanationPage,
  groupAccount,
  groupExplanations,
  groupJobs,
  hasReasons,
  headlineOf,
  maxLabels,
} from '@updraft/account/why';
import {
  headBytes,
  isEventLog,
  type LogSource,
  unreadNotes,
  type LogEvent,
} from '@updraft/htcondor/eventlog';
import { Fault, usageFault } from '@updraft/account/fault';
import { endedBadly, type JobState } from '@updraft/account/journal';
import { findJob } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findRun, runAndJobs } from '../find-run.ts';
import { logsArgument, namedLogs, refuseMissing, whatIsNamed } from '../named-logs.ts';
import { currentState, printUnsupervised } from '../run-view/current-state.ts';
import { type NextCommand, nextCommands, printPage } from '../text/phrases.ts';
import {
  hasNumber,
  type HistoryOptions,
  idParts,
  type JobHistory,
  readAds,
  readHistory,
  type ReadHistory,
} from '@updraft/account/history';
import { explainRun } from '../why/explain-run.ts';
import { type DagLogs, readDagLogs } from '../report/dag-source.ts';
import { noEventsFault } from '@updraft/account/report';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'why.md', [
    'updraft why cifar10 3    # job 0003 of the latest run called cifar10',
    'updraft why my.log 12.3  # a job of any HTCondor event log',
  ])
    .argument(
      '[run | log]',
      'a run (default: the latest), or an HTCondor event log: a file, a folder of logs, - for stdin; or a DAG file',
    )
    .argument(
      '[log | job...]',
      'more logs; a job: 0003 or 3 of a run, 12.3 of a log, a node of a DAG (default: all)',
    )
    .option('--reason <words>', 'explain a hold reason that you paste (- for stdin)')
    .option('--json', 'print JSON')
    .option('--verbose', 'also print the journal entries of the run')
    .action(
      async (run: string | undefined, others: string[], options: Partial<View> & { reason?: string }) => {
        const view = { json: options.json ?? false, verbose: options.verbose ?? false };
        if (options.reason !== undefined) return whyReason(cli, options.reason, run, view);
        const { dag, logs, rest } = await whatIsNamed(cli, run === undefined ? others : [run, ...others]);
        const [first, second, ...more] = rest;
        if (more.length > 0 || (logs.length > 0 && second !== undefined))
          throw usageFault(
            `why takes one job, and "${printable(more[0] ?? second ?? '')}" is another`,
            'name one job after the run or the logs, or none',
          );
        if (dag !== undefined) return whyDag(cli, dag, first, view);
        if (logs.length > 0) return whyLogs(cli, logs, first, view);
        await refuseMissing(cli, first);
        return whyRun(cli, first, second, view);
      },
    );
}

async function whyReason(cli: Cli, words: string, other: string | undefined, view: View): Promise<void> {
  const reason = words === '-' ? await text(cli.stdin()) : words;
  if (other !== undefined || reason.trim() === '')
    throw usageFault(
      other === undefined ? 'the hold reason is empty' : '--reason takes no run and no log',
      "paste the reason alone, in quotes: updraft why --reason 'Transfer input files failure …'",
    );
  const events = reason.match(/^\d{3} \(\d+\.\d+\.\d+\) /gm) ?? [];
  if (events.length > 1 && !events.some((event) => event.startsWith('012')))
    throw usageFault(
      `this is a log of ${events.length} events, and none of them is a hold`,
      'explain its jobs: updraft why my.log, or - instead of the name to read it from stdin',
    );
  showReasons(cli, reason, view);
}

/** Each reason in full. */
function showReasons(cli: Cli, reason: string, { json, verbose }: View): void {
  const explanations = explainReasons(reason);
  if (json) cli.out(`${JSON.stringify({ jobs: explanations }, forJson)}\n`);
  else printPage(cli, joinPages(explanations.map((one) => explanationPage(one, verbose))));
}

const maxPasted = 8 * 1024 * 1024;

/** A text with hold reasons instead of events. */
async function pastedReasons(source: LogSource): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let words = '';
  for await (const piece of source.open()) {
    const isFirst = words === '';
    words += decoder.decode(piece, { stream: true });
    if (isFirst && (isEventLog(piece.subarray(0, headBytes)) || !hasReasons(words.slice(0, headBytes))))
      return undefined;
    if (words.length > maxPasted)
      throw usageFault(
        `${printable(source.name)} has more than 8 MiB of hold reasons`,
        'explain those of one cluster: condor_q -hold CLUSTER | updraft why -',
      );
  }
  return words === '' ? undefined : words;
}

async function whyDag(cli: Cli, file: string, node: string | undefined, view: View): Promise<void> {
  const dag = await readDagLogs(cli, file);
  const explanations = await explainDag(cli, dag, file, node);
  const ends = dagmanEnds(dag.run);
  if (!view.json) for (const end of ends) printPage(cli, [`DAGMan ${end}.`, '']);
  show(cli, explanations, view, { dag: path.resolve(cli.cwd, file), dagman: ends });
  if (view.json) return;
  const example = groupExplanations(explanations)[0]?.example;
  const isJob = example?.siblings === true;
  const word = (isJob ? example.job : example?.node) ?? '';
  nextCommands(cli, [
    explanations.length > 1 && [
      `updraft why ${shellQuote(file)} ${shellQuote(printable(word))}`,
      `one ${isJob ? 'job' : 'node'} in full`,
    ],
    [`updraft report ${shellQuote(file)}`, 'where the time went, by node'],
  ]);
}

async function whyLogs(
  cli: Cli,
  words: readonly string[],
  job: string | undefined,
  view: View,
): Promise<void> {
  const sources = await namedLogs(cli, words);
  const [only, ...others] = sources;
  if (only !== undefined && others.length === 0 && job === undefined) {
    const reasons = await pastedReasons(only);
    if (reasons !== undefined) {
      showReasons(cli, reasons, view);
      return;
    }
  }
  const { jobs, hasLogs } = await jobsToExplain(sources, job, { signal: cli.signal, isQuoted: view.json });
  const logs = sources.map(({ name }) => (words.includes('-') ? name : path.resolve(cli.cwd, name)));
  const source = logs.length === 1 ? { log: logs[0] } : { logs };
  const groups = view.json ? [] : groupJobs(jobs, headlineOf, explainStory);
  if (view.json) printJson(cli, jobs, source, explainStory);
  else printGroups(cli, groups, view);
  for (const note of unreadNotes(sources)) cli.err(`\n${note}\n`);
  if (view.json || words.includes('-')) return;
  const names = logsArgument(words);
  const example = shellQuote(printable(groups[0]?.example.job ?? ''));
  nextCommands(cli, [
    jobs.length > 1 && [`updraft why ${names} ${example}`, 'one job in full'],
    hasLogs && [`updraft report ${names}`, 'where the time went'],
  ]);
}

async function whyRun(
  cli: Cli,
  first: string | undefined,
  second: string | undefined,
  view: View,
): Promise<void> {
  const words = runAndJobs([first, second]);
  const [word] = words.jobs;
  const run = await findRun(cli, words.run);
  const state = await currentState(cli, run.folder);
  const jobs = word === undefined ? state.jobs : [findJob(state, word)];
  const explanations = await explainRun(run.folder, state, jobs, cli.clock.now());
  show(cli, explanations, view, { run: state.run, folder: run.folder });
  if (view.json) return;
  await printUnsupervised(cli, run.folder, state);
  const [only] = explanations;
  const isOne = explanations.length === 1 && only !== undefined;
  const job = isOne ? only.job : (groupExplanations(explanations)[0]?.jobs[0] ?? '');
  nextCommands(cli, [
    !isOne && [`updraft why ${run.argument} ${job}`, 'one job in full'],
    jobs.some(endedBadly) && [
      `updraft retry ${run.argument}${isOne ? ` ${job}` : ''} --dry-run`,
      'what a retry would do',
    ],
    logsOf(
      run.argument,
      jobs.find(({ id }) => id === job),
    ),
    [`updraft status ${run.argument}`, 'the state of each job'],
  ]);
}

function logsOf(run: string, job: JobState | undefined): NextCommand {
  if (job === undefined || job.attempts.length === 0) return undefined;
  return job.status === 'running'
    ? [`updraft logs ${run} ${job.id} -f`, 'follow its output']
    : [`updraft logs ${run} ${job.id} --err`, 'what it printed on stderr'];
}

interface View {
  json: boolean;
  verbose: boolean;
}

function show(
  cli: Cli,
  explanations: readonly Explanation[],
  view: View,
  source: Record<string, unknown>,
): void {
  if (view.json) printJson(cli, explanations, source, (one) => one);
  else printGroups(cli, groupExplanations(explanations), view);
}

/** Only a heading over several jobs needs their common title. */
const forJson = (key: string, value: unknown): unknown => (key === 'titles' ? undefined : value);

/** Job by job: many of them as one text would take as much memory as their histories. */
function printJson<Job>(
  cli: Cli,
  jobs: readonly Job[],
  source: Record<string, unknown>,
  explain: (job: Job) => Explanation,
): void {
  cli.out(JSON.stringify({ ...source, jobs: [] }).slice(0, -2));
  for (const [at, job] of jobs.entries())
    cli.out(`${at === 0 ? '' : ','}${JSON.stringify(explain(job), forJson)}`);
  cli.out(']}\n');
}

/** Prints one job in full, and more than one in groups. */
function printGroups(cli: Cli, groups: readonly ExplainedGroup[], { verbose }: View): void {
  const [only] = groups;
  const isOne = groups.length === 1 && only?.jobs.length === 1;
  printPage(cli, isOne ? explanationPage(only.example, verbose) : joinPages(groups.map(groupPage)));
}

/** Jobs with their cause, explained by an example. */
function groupPage(group: ExplainedGroup): Document {
  const { heading, why, fix } = groupAccount(group);
  const names = firstFew(group.labels, maxLabels);
  const facts = [
    ['why', ...why],
    ['fix', ...fix],
  ] as const;
  return [heading, `  ${group.jobs.length === 1 ? 'job' : 'jobs'} ${names}`, { facts }];
}

/** Explains the nodes of a DAG, also those that have no job; with the name of a node or the id of a job, only it. */
async function explainDag(
  cli: Cli,
  { run, logs }: DagLogs,
  file: string,
  name: string | undefined,
): Promise<Explanation[]> {
  const { byName } = run.dag;
  const read =
    logs.length === 0
      ? []
      : (await jobsToExplain(logs, undefined, { signal: cli.signal, isQuoted: true, ofDag: run })).jobs;
  const explained = explainNodes(run, read, file);
  if (name === undefined) return explained;
  if (byName.has(name)) return explained.filter(({ node }) => node === name);
  const ids = new Set(read.filter((job) => hasNumber(job, name)).map(({ id }) => id));
  // A splice is all of its nodes.
  const named = explained.filter(({ job, node }) => ids.has(job) || node?.startsWith(`${name}+`) === true);
  if (named.length === 0) throw noSuchNode(file, name, byName.keys());
  return named;
}

function noSuchNode(file: string, name: string, known: Iterable<string>): Fault {
  const close = nearest(name, known);
  return usageFault(
    `${printable(file)} has no node ${printable(name)}`,
    close === undefined ? 'name a node as its JOB line does' : `did you mean ${printable(close)}?`,
    name,
  );
}

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
      return usageFault(
        `"${printable(this.#word)}" names no job and no DAG node in ${logs}`,
        'name a job like 12.3, a cluster like 12, or a DAG node; to see all jobs, leave it out',
        this.#word,
      );
    return usageFault(
      `there is no job ${printable(this.#word)} in ${logs}`,
      'to see all jobs, leave out the job',
      this.#word,
    );
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
