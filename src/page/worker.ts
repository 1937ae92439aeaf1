import { counted } from '../base/counted.ts';
import { printable } from '../base/printable.ts';
import { shellQuote } from '../base/shell-quote.ts';
import type { LogEvent } from '../eventlog/events.ts';
import type { LogSource } from '../eventlog/scan-log.ts';
import { asFault } from '../fault/fault.ts';
import type { JobHistory } from '../history/history.ts';
import { readHistory } from '../history/read-history.ts';
import { readLogs } from '../report/read-logs.ts';
import { reportPage } from '../report/report-page.ts';
import { explainReason } from '../why/explain-reason.ts';
import { explainStory } from '../why/explain-story.ts';
import { viewExplanation } from '../why/explanation-view.ts';
import { groupExplanations } from '../why/group-explanations.ts';
import { logFrom, sortFiles } from './dropped-logs.ts';
import { lintDropped, lintDroppedDag, readTexts } from './dropped-submit.ts';
import type { DroppedFile, PageAnswer, PageRequest } from './messages.ts';

const say = (answer: PageAnswer): void => postMessage(answer);

/** The jobs of the logs that were read last. */
let jobs: readonly JobHistory[] = [];
let logNames: readonly string[] = [];
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
  if (request.ask === 'files') await readFiles(request.files);
  else if (request.ask === 'job') await explainJob(request.word);
  else explainPasted(request.text);
}

async function readFiles(files: readonly DroppedFile[]): Promise<void> {
  say({ is: 'progress', share: 0, doing: `Looking at ${counted(files.length, 'file')} …` });
  const { logs, dags, submits, others } = await sortFiles(files);
  const isNothing = logs.length + dags.length + submits.length === 0;
  const commands: string[] = [];
  // A file that is no log is reported as the command line reports it.
  if (logs.length > 0 || isNothing) commands.push(await reportOn(isNothing ? files : logs));
  commands.push(...(await adoptAll(dags, submits, others)));
  if (!isNothing && others.length > 0 && dags.length + submits.length === 0)
    say({ is: 'ignored', names: others.map(({ name }) => name) });
  say({ is: 'done', command: commands.join('; ') });
}

/** Says what is wrong in each DAG; without one, in each submit file. */
async function adoptAll(
  dags: readonly DroppedFile[],
  submits: readonly DroppedFile[],
  others: readonly DroppedFile[],
): Promise<string[]> {
  const adopted = dags.length > 0 ? dags : submits;
  if (adopted.length === 0) return [];
  const texts = await readTexts([...dags, ...submits, ...others]);
  const lint = dags.length > 0 ? lintDroppedDag : lintDropped;
  for (const { name } of adopted) say({ is: 'submit', ...lint(name, texts, new Date()) });
  return adopted.map(({ name }) => `updraft adopt ${shellQuote(name)}`);
}

/** Reads the logs, and reports on all of them together. Returns the command that does the same. */
async function reportOn(files: readonly DroppedFile[]): Promise<string> {
  const progress = progressOf(files);
  const sources = files.map((file) => logFrom(file, (bytes) => progress.advance(file, bytes)));
  const isPlaceEnough = files.reduce((sum, { blob }) => sum + blob.size, 0) > manyBytes;
  const read = await readLogs(sources, { evidence: true, isPlaceEnough });
  progress.end();
  [jobs, logNames] = [read.jobs, files.map(({ name }) => name)];
  unquoted = isPlaceEnough ? files.map((file) => logFrom(file, () => undefined)) : undefined;
  const name = nameOf(logNames);
  const title = `Where the time went: ${name}`;
  say({ is: 'report', name, title, page: reportPage(title, read) });
  say({ is: 'groups', groups: groupExplanations(jobs.map((job) => explainStory(job))) });
  return `updraft report ${namesOf(logNames)}`;
}

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

async function explainJob(word: string): Promise<void> {
  const found = jobs.filter((job) => isNamed(job, word));
  if (found.length === 0) {
    say({ is: 'no-job', message: `There is no job ${printable(word)} in ${nameOf(logNames)}.` });
    return;
  }
  const command = `updraft why ${namesOf(logNames)} ${shellQuote(found[0]?.id ?? '')}`;
  const show = (some: readonly JobHistory[]): void =>
    say({ is: 'why', views: some.map((job) => viewExplanation(explainStory(job))), command });
  show(found);
  if (unquoted === undefined) return;
  const ids = new Set(found.flatMap(({ id, earlierIds = [] }) => [id, ...earlierIds]));
  const only = ({ cluster, proc }: LogEvent): boolean => ids.has(`${cluster}.${proc}`);
  show((await readHistory(unquoted, { evidence: true, only })).jobs);
}

/** By its id or its node; of several logs, also as the groups (`a.log: 1.0`) and the tables (`a.log 1.0`) name it. */
const isNamed = ({ id, node = id, log = '' }: JobHistory, word: string): boolean =>
  [id, node].some(
    (name) =>
      word === name ||
      (word.endsWith(` ${name}`) &&
        `/${log}`.endsWith(`/${word.slice(0, -name.length - 1).replace(/:$/, '')}`)),
  );

function explainPasted(text: string): void {
  const views = [viewExplanation(explainReason(text))];
  say({ is: 'why', views, command: `updraft why --reason ${shellQuote(text.trim())}` });
}

/** Its name in a heading. */
const nameOf = ([first = '', ...more]: readonly string[]): string =>
  more.length === 0 ? first : `${first} and ${more.length} more`;

/** Commands repeat no more names than this. */
const maxNamed = 3;

const namesOf = (names: readonly string[]): string =>
  names.length > maxNamed ? 'LOGS' : names.map(shellQuote).join(' ');
