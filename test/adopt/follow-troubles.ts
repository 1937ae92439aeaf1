import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { type AccessPoint, job } from './access-point.ts';
import { adviceIn, linesIn, lintLines, withLines } from './advised-lines.ts';
import type { Fate, Trouble } from './troubles/trouble.ts';
import { hangMs } from '../hang-limit.ts';

/** One job of a trouble, with or without the advised lines, in a folder of its own. */
interface Case {
  trouble: Trouble;
  lines: string[];
  expected: string;
  folder: string;
  clusters: string[];
}

/** Submits the jobs of all troubles at once, and sees what becomes of each before and after its advice is followed. */
export async function followTroubles(here: AccessPoint, troubles: readonly Trouble[]): Promise<void> {
  const { here: meeting, onWorker } = await here.meet();
  const cases: Case[] = [];
  for (const [index, trouble] of troubles.entries()) {
    const own = linesOf(trouble, onWorker);
    const { before, after = 'succeeds' } = trouble;
    const folders = ['before', 'after'].map((word) => here.at(`${trouble.rule}-${index}/${word}`));
    for (const folder of folders) await place(trouble, folder);
    const [wrong = '', right = ''] = folders;
    const better = follow(trouble, own, adviceIn(await lintLines(wrong, own, trouble), trouble.rule));
    // Of what is worth adding, each job adds its part.
    if (trouble.rule !== 'worth-adding')
      assert.ok(
        !(await findsAgain(trouble, right, better)),
        `${trouble.rule} is not content: ${better.join('\n')}`,
      );
    if (before !== 'depends')
      cases.push({ trouble, lines: own, expected: before, folder: wrong, clusters: [] });
    cases.push({ trouble, lines: better, expected: after, folder: right, clusters: [] });
  }
  const surprises: string[] = [];
  const surprise = (one: Case, fate: string): void =>
    void surprises.push([`${one.expected} expected, but ${fate}:`, one.folder, ...one.lines].join('\n'));
  const open = new Set(await submitAll(here, cases, surprise));
  const signal = AbortSignal.timeout(hangMs);
  while (open.size > 0 && !signal.aborted) {
    const queue = await queueNow(here);
    for (const one of open) {
      // A machine may be busy: only once all others have found theirs is a job believed that finds none.
      const isLast = [...open].every(({ expected }) => expected === 'finds no machine');
      const fate = await fateOf(here, one, queue, isLast);
      if (fate === undefined) continue;
      if (fate !== one.expected) surprise(one, fate);
      open.delete(one);
    }
    if (![...open].some(({ expected }) => expected.startsWith('is held')))
      await writeFile(path.join(meeting, 'go'), '');
    const logs = [...open].map(({ folder }) => path.join(folder, 'job.log'));
    if (logs.length > 0) await waitForChange(logs, 500, systemClock);
  }
  for (const one of open) surprise(one, 'nothing happens');
  assert.ok(surprises.length === 0, surprises.join('\n\n'));
}

const findsAgain = async (trouble: Trouble, folder: string, lines: string[]): Promise<boolean> =>
  (await lintLines(folder, lines, trouble)).some(({ rule }) => rule === trouble.rule);

async function place({ files = {} }: Trouble, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content, { mode: name.endsWith('.sh') ? 0o755 : 0o600 });
  }
}

function linesOf({ does = 'true', lines = [], lacks, queue = 'queue' }: Trouble, meeting: string): string[] {
  const words = does.replaceAll('"', '""').replaceAll('MEET', meeting);
  const all = [...job('/bin/sh', 'job.log'), `arguments = "-c '${words}'"`, queue];
  return withLines(all, lines).filter((line) => lacks?.test(line) !== true);
}

function follow({ without, line, right }: Trouble, lines: string[], fix: string): string[] {
  const kept = lines.filter((one) => without?.test(one) !== true);
  if (right !== undefined) return right(kept, fix);
  if (line instanceof RegExp) {
    const named = fix.match(line) ?? [];
    assert.notEqual(named.length, 0, `not advised: ${fix}`);
    return withLines(kept, named);
  }
  const advised = line === undefined ? linesIn(fix) : [line].flat();
  assert.notDeepEqual([advised, kept], [[], lines], `no line: ${fix}`);
  return withLines(kept, advised);
}

/** Those that HTCondor queued; the others must have been expected to be refused. */
async function submitAll(
  here: AccessPoint,
  cases: readonly Case[],
  surprise: (one: Case, fate: string) => void,
): Promise<Case[]> {
  const submitted = cases.map(async (one) => {
    const { variables = {}, times = 1, isAlone = false } = one.trouble;
    for (let time = 1; time <= times; time += 1) {
      const cluster = await here
        .submit('job', one.lines, {
          cwd: one.folder,
          variables,
          more: isAlone
            ? [`accounting_group_user = ${path.relative(here.folder, one.folder).replaceAll('/', '-')}`]
            : [],
        })
        .catch((error: unknown) => String(error));
      const isQueued = /^\d+$/.test(cluster);
      if (isQueued !== (one.expected !== 'is refused')) surprise(one, cluster);
      if (isQueued) one.clusters.push(cluster);
    }
    return one;
  });
  return (await Promise.all(submitted)).filter(({ clusters }) => clusters.length > 0);
}

/** The clusters in the queue, and which of them no machine accepted. */
async function queueNow(here: AccessPoint): Promise<Map<string, boolean>> {
  const rows = (await here.tool('condor_q', '-af', 'ClusterId', 'LastRejMatchTime > 0')).split('\n');
  return new Map(rows.map((row) => [row.split(' ')[0] ?? '', row.endsWith(' true')]));
}

async function fateOf(
  here: AccessPoint,
  { trouble, folder, clusters }: Case,
  queue: Map<string, boolean>,
  isLast: boolean,
): Promise<string | undefined> {
  const [cluster = ''] = clusters;
  if (trouble.sees !== undefined) {
    const hasLeft = !clusters.some((one) => queue.has(one));
    return hasLeft ? await trouble.sees({ folder, cluster, tool: here.tool }) : undefined;
  }
  return (
    (await fateIn(path.join(folder, 'job.log'))) ??
    (isLast && queue.get(cluster) === true ? 'finds no machine' : undefined)
  );
}

/** What has become of the job of a log. */
async function fateIn(log: string): Promise<Fate | undefined> {
  const text = existsSync(log) ? await readFile(log, 'utf8') : '';
  const times = text.split('\n001 (').length - 1;
  const [, status] = /\n005 .*\n.*return value (\d+)/.exec(text) ?? [];
  if (status !== undefined) return status === '0' ? 'succeeds' : times > 1 ? `fails ${times} times` : 'fails';
  // Errors of the starter: a hold follows seconds later, or another attempt.
  if (/\n021 .*\n.*\n\tCode (?:6|45) /.test(text)) return 'cannot start';
  const [, code] = /\n012 .*\n.*\n\tCode (\d+)/.exec(text) ?? [];
  if (code !== undefined) return `is held (${Number(code)})`;
  return times > 5 ? 'runs again forever' : undefined;
}
