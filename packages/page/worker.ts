import { counted, firstFew, printable, shellQuote } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import { type DagRun, nodeJobLabel } from '@updraft/htcondor/dag';
import type { LogEvent, LogSource } from '@updraft/htcondor/eventlog';
import { asFault } from '@updraft/account/fault';
import { hasNumber, idInQueue, type JobHistory, readHistory } from '@updraft/account/history';
import { groupedPage, type GroupingName, readLogs, type ReadLogs, reportPage } from '@updraft/account/report';
import {
  explainNodes,
  explanationPage,
  explainReasons,
  explainStory,
  groupExplanations,
} from '@updraft/account/why';
import { readDrop, unreadFiles, type Drop } from './drop.ts';
import { logFrom, sortFiles } from './dropped-logs.ts';
import { droppedRun, lintDropped, lintDroppedDag, mainFiles } from './dropped-submit.ts';
import type { DroppedFile, PageAnswer, PageRequest, Target } from './messages.ts';

type Explanation = ReturnType<typeof explainStory>;

const say = (answer: PageAnswer): void => postMessage(answer);

/** What was read last, for the questions that follow. */
let read: ReadLogs | undefined;
/** The jobs of ads and hold reasons, which have no history to report on. */
const fromAds: Explanation[] = [];
let dag: { file: string; run: DagRun } | undefined;
let names: readonly string[] = [];
let adopted: { name: string; drop: Drop; lint: typeof lintDropped }[] = [];
/** The logs, if they are read again for the lines that show a job's cause. */
let unquoted: readonly LogSource[] | undefined;
/** Logs of more bytes are read without those lines, which takes half the time. */
const manyBytes = 16_000_000;

addEventListener('message', ({ data }: MessageEvent<PageRequest>) => {
  answer(data).catch((thrown: unknown) => {
    const { message, fix = '' } = asFault(thrown);
    say({ is: 'fault', message, fix });
  });
});

async function answer(request: PageRequest): Promise<void> {
  if (request.ask === 'files') await readFiles(request);
  else if (request.ask === 'job') await explainJob(request.word);
  else if (request.ask === 'by') groupBy(request.by);
  else if (request.ask === 'pool') adoptAll(request.target);
  else explainPasted(request.text);
}

async function readFiles({ files, folders, target }: PageRequest & { ask: 'files' }): Promise<void> {
  say({ is: 'progress', share: 0, doing: `Looking at ${counted(files.length, 'file')} …` });
  const sorted = await sortFiles(files);
  const { logs, ads, dags, submits, packed, others } = sorted;
  const isNothing = logs.length + ads.length + dags.length + submits.length === 0;
  const isAdopted = dags.length + submits.length > 0;
  const texts = isAdopted ? [...dags, ...submits, ...others] : [];
  const drop = await readDrop(texts, [...logs, ...ads, ...packed], folders);
  const { mains, alone } = mainFiles(sorted, drop);
  const [only, ...more] = mains;
  if (only !== undefined && more.length === 0)
    dag = { file: only.name, run: await droppedRun(only, drop, files) };
  const commands: string[] = [];
  // A file that is no log is reported as the command line reports it.
  if (logs.length > 0 || isNothing) commands.push(await reportOn(isNothing ? files : logs));
  await readAll(ads);
  if (read !== undefined || ads.length > 0) explainAll(ads);
  if (read === undefined && ads.length > 0) commands.push(`updraft why ${namesOf(names)}`);
  adopted = [
    ...mains.map(({ name }) => ({ name, drop, lint: lintDroppedDag })),
    ...alone.map(({ name }) => ({ name, drop, lint: lintDropped })),
  ];
  adoptAll(target);
  commands.push(...adopted.map(({ name }) => `updraft adopt ${fileWord(name)}`));
  say({ is: 'ignored', ...unreadFiles(sorted, drop) });
  say({ is: 'done', command: commands.join('; ') });
}

/** Says what is wrong in each DAG, and in each submit file that is in none of them. */
function adoptAll({ pool, limits }: Target): void {
  if (adopted.length === 0) return;
  say({
    is: 'findings',
    name: nameOf(adopted.map(({ name }) => name)),
    pool,
    adopted: adopted.map(({ name, drop, lint }) => lint(name, drop, new Date(), limits)),
  });
}

/** Reads the logs, and reports on all of them together. Returns the command that does the same. */
async function reportOn(files: readonly DroppedFile[]): Promise<string> {
  const progress = progressOf(files);
  const sources = files
    .filter((file) => !isDagmansOwn(file))
    .map((file) => sourceOf(file, (bytes) => progress.advance(file, bytes)));
  const isPlaceEnough = files.reduce((sum, file) => sum + unpackedSize(file), 0) > manyBytes;
  read = await readLogs(sources, { evidence: true, isPlaceEnough, dag: dag?.run });
  progress.end();
  names = dag === undefined ? files.map(({ name }) => name) : [dag.file];
  unquoted = isPlaceEnough ? files.map((file) => sourceOf(file, () => undefined)) : undefined;
  const name = nameOf(names);
  const title = `Where the time went: ${name}`;
  say({ is: 'report', name, title, page: reportPage(title, read) });
  return `updraft report ${namesOf(names)}`;
}

/** Logs become about ten times smaller. */
const unpackedSize = ({ name, blob }: DroppedFile): number => blob.size * (/\.gz$/i.test(name) ? 10 : 1);

/** The log of DAGMan as a job, which needs no slot. */
const isDagmansOwn = ({ name }: DroppedFile): boolean =>
  dag?.run.dag.dagmans.some(({ file }) => name === dag?.run.shownAs(`${file}.dagman.log`)) ?? false;

/** The nodes of a DAG need not be named with their log. */
const sourceOf = (file: DroppedFile, onRead: (bytes: number) => void): LogSource =>
  logFrom(file, onRead, dag?.file);

async function readAll(ads: readonly DroppedFile[]): Promise<void> {
  names = [...names, ...ads.map(({ name }) => name)];
  for (const file of ads) {
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of logFrom(file, () => undefined).open())
      text += decoder.decode(piece, { stream: true });
    fromAds.push(...explainReasons(text).map((one) => (names.length > 1 ? { ...one, log: file.name } : one)));
  }
}

function explainAll(ads: readonly DroppedFile[]): void {
  const explained = [...explanationsOf(read?.jobs ?? []), ...fromAds];
  if (explained.length > 0 || ads.length > 0)
    say({ is: 'groups', name: nameOf(names), groups: groupExplanations(explained) });
}

const explanationsOf = (jobs: readonly JobHistory[]): Explanation[] =>
  dag === undefined ? jobs.map((job) => explainStory(job)) : explainNodes(dag.run, jobs, dag.file);

/** The page is sent no more news than it can show. */
const newsMillis = 50;

function progressOf(files: readonly DroppedFile[]) {
  const total = files.reduce((sum, { blob }) => sum + blob.size, 0);
  const at = new Map<DroppedFile, number>();
  const what = `${counted(files.length, 'log')}, ${(total / 1e6).toFixed(1)} MB`;
  let saidAt = -Infinity;
  const advance = (file: DroppedFile, bytes: number): void => {
    at.set(file, bytes);
    if (performance.now() - saidAt < newsMillis) return;
    saidAt = performance.now();
    const done = [...at.values()].reduce((sum, one) => sum + one, 0);
    say({ is: 'progress', share: total === 0 ? 0 : done / total, doing: `Reading ${what} …` });
  };
  const end = (): void => say({ is: 'progress', share: 1, doing: `Accounting for ${what} …` });
  return { advance, end };
}

function groupBy(by: GroupingName): void {
  if (read === undefined) return;
  const command = `updraft report ${namesOf(names)} --by ${by}`;
  say({ is: 'grouped', page: groupedPage('', read, by, true), command });
}

async function explainJob(word: string): Promise<void> {
  const jobs = read?.jobs ?? [];
  const labelled = jobs.filter((job) => isNamed(job, word));
  const found = labelled.length > 0 ? labelled : jobs.filter((job) => hasNumber(job, word));
  const ads = fromAds.filter((one) => isNamed({ ...one, id: one.job }, word));
  const nodes = found.length === 0 ? explanationsOf(jobs).filter(({ node }) => node === word) : [];
  if (found.length + nodes.length + ads.length === 0) {
    say({ is: 'no-job', message: `There is no job ${printable(word)} in ${nameOf(names)}.` });
    return;
  }
  // A table of reasons is explained as a whole.
  const job = ads.length > 0 ? '' : ` ${shellQuote(found[0]?.id ?? word)}`;
  const command = `updraft why ${namesOf(names)}${job}`;
  const show = (explained: readonly Explanation[]): void =>
    say({ is: 'why', pages: explained.map((one) => explanationPage(one)), command });
  show([...found.map((one) => explainStory(one)), ...nodes, ...ads]);
  if (unquoted === undefined || found.length === 0) return;
  const ids = found.flatMap(({ id, earlierIds = [] }) => [id, ...earlierIds]);
  const numbers = new Set(ids.map(idInQueue));
  const only = ({ cluster, proc }: LogEvent): boolean => numbers.has(`${cluster}.${proc}`);
  const { jobs: again } = await readHistory(unquoted, { evidence: true, only });
  show(again.filter(({ id }) => ids.includes(id)).map((job) => explainStory(job)));
}

/** By its id or its node; of several logs, also as the groups (`a.log: 1.0`) and the tables (`a.log 1.0`) name it. */
type Named = Pick<JobHistory, 'id' | 'node' | 'siblings' | 'log'>;
const isNamed = ({ id, node = id, siblings, log = '' }: Named, word: string): boolean =>
  [id, node, nodeJobLabel(id, node, siblings)].some(
    (name) =>
      word === name ||
      (word.endsWith(` ${name}`) &&
        `/${log}`.endsWith(`/${word.slice(0, -name.length - 1).replace(/:$/, '')}`)),
  );

function explainPasted(text: string): void {
  const pages = explainReasons(text).map((one) => explanationPage(one));
  const words = withoutSecrets(text.trim());
  // A text of several lines is given to the command by a pipe or a file.
  say({
    is: 'why',
    pages,
    command: `updraft why --reason ${words.includes('\n') ? '-' : shellQuote(words)}`,
  });
}

/** Its name in a heading. */
const nameOf = (names: readonly string[]): string => firstFew(names.map(printable), 1);

/** Commands repeat no more names than this. */
const maxNamed = 3;

const namesOf = (all: readonly string[]): string =>
  all.length > maxNamed ? 'LOGS' : all.map(fileWord).join(' ');

/** A name that is no option. */
const fileWord = (name: string): string => shellQuote(name.startsWith('-') ? `./${name}` : name);
