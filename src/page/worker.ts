import { counted } from '../base/counted.ts';
import { printable } from '../base/printable.ts';
import { shellQuote } from '../base/shell-quote.ts';
import { asFault } from '../fault/fault.ts';
import type { JobHistory } from '../history/history.ts';
import { readLogs } from '../report/read-logs.ts';
import { reportPage } from '../report/report-page.ts';
import { explainReason } from '../why/explain-reason.ts';
import { explainStory } from '../why/explain-story.ts';
import { viewExplanation } from '../why/explanation-view.ts';
import { groupExplanations } from '../why/group-explanations.ts';
import { logFrom, sortFiles } from './dropped-logs.ts';
import { lintDropped, readTexts } from './dropped-submit.ts';
import type { DroppedFile, PageAnswer, PageRequest } from './messages.ts';

const say = (answer: PageAnswer): void => postMessage(answer);

/** The jobs of the logs that were read last. */
let jobs: readonly JobHistory[] = [];
let logNames: readonly string[] = [];

addEventListener('message', ({ data }: MessageEvent<PageRequest>) => {
  answer(data).catch((thrown: unknown) => {
    const { message, fix = '' } = asFault(thrown);
    say({ is: 'fault', message, fix });
  });
});

async function answer(request: PageRequest): Promise<void> {
  if (request.ask === 'files') await readFiles(request.files);
  else if (request.ask === 'job') explainJob(request.word);
  else explainPasted(request.text);
}

async function readFiles(files: readonly DroppedFile[]): Promise<void> {
  say({ is: 'progress', share: 0, doing: `Looking at ${counted(files.length, 'file')} …` });
  const { logs, submits, others } = await sortFiles(files);
  const isNothing = logs.length + submits.length === 0;
  const commands: string[] = [];
  // A file that is no log is reported as the command line reports it.
  if (logs.length > 0 || isNothing) commands.push(await reportOn(isNothing ? files : logs));
  const texts = submits.length === 0 ? new Map<string, string>() : await readTexts([...submits, ...others]);
  for (const { name } of submits) {
    say({ is: 'submit', ...lintDropped(name, texts, new Date()) });
    commands.push(`updraft adopt ${shellQuote(name)}`);
  }
  if (!isNothing && others.length > 0 && submits.length === 0)
    say({ is: 'ignored', names: others.map(({ name }) => name) });
  say({ is: 'done', command: commands.join('; ') });
}

/** Reads the logs, and reports on all of them together. Returns the command that does the same. */
async function reportOn(files: readonly DroppedFile[]): Promise<string> {
  const progress = progressOf(files);
  const read = await readLogs(
    files.map((file) => logFrom(file, (bytes) => progress.advance(file, bytes))),
    { evidence: true },
  );
  progress.end();
  [jobs, logNames] = [read.jobs, files.map(({ name }) => name)];
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

function explainJob(word: string): void {
  const found = jobs.filter((job) => isNamed(job, word));
  if (found.length === 0)
    say({ is: 'no-job', message: `There is no job ${printable(word)} in ${nameOf(logNames)}.` });
  else
    say({
      is: 'why',
      views: found.map((job) => viewExplanation(explainStory(job))),
      command: `updraft why ${namesOf(logNames)} ${shellQuote(found[0]?.id ?? '')}`,
    });
}

/** By its id, its node, or as the groups name it. */
const isNamed = ({ id, node = id, log }: JobHistory, word: string): boolean =>
  [id, node, `${node} of ${log ?? ''}`].includes(word);

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
