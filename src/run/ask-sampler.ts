import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { counted, informativeLine, jsonTable, printable } from '@updraft/base';
import { isLowerBetter } from '@updraft/base/training';
import { Fault } from '@updraft/account/fault';
import { type JobState, stoppedEarly } from '@updraft/account/journal';
import type { Plan } from '../job/plan.ts';
import { isInRange, type Trial } from '../search/trials.ts';

/** More than the most trials need. */
const maxOut = 1e8;

/**
 * This number of trials, as the user's own file draws them, which reads what the others have come to; undefined if a
 * search has none. They become part of the plan: no run depends on the file again.
 */
export async function askSampler(
  { folder, spec: { search, results }, variants }: Plan,
  count: number,
  jobs: readonly JobState[],
  { signal, seconds = 60 }: { signal?: AbortSignal | undefined; seconds?: number },
): Promise<Trial[] | undefined> {
  if (search?.sampler === undefined) return undefined;
  const { sampler, ranges, metric, seed } = search;
  const { direction = isLowerBetter(metric, results) ? 'minimize' : 'maximize' } = search;
  const refuse = (what: string, fix = `correct it, as \`updraft docs search\` describes`): Fault =>
    new Fault('file-invalid', `${sampler}${what}`, { fix, about: path.join(folder, sampler) });
  if (variants !== undefined)
    throw refuse(' cannot draw what data, software or resources differ by', 'remove `sampler`');
  // Its process group is ended as a whole.
  const child = spawn('timeout', ['-k', '5', `${seconds}`, 'python3', sampler], { cwd: folder, signal });
  let [out, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += out.length < maxOut ? text : ''));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)));
  const trials = jobs.map(outcomeOf(metric));
  const question = { count, seed, metric, direction, ranges, trials };
  child.stdin.on('error', () => undefined).end(JSON.stringify(question));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 124) throw refuse(` took longer than ${seconds} s`);
  const [, line = ''] = said.split(`${sampler}", line `).map((rest) => /^\d+/.exec(rest)?.[0]);
  if (code !== 0) throw refuse(`:${line} exit code ${code}: ${printable(informativeLine(said))}`);
  const lines = out.split('\n').filter((one) => one.trim() !== '');
  if (lines.length !== count)
    throw refuse(
      ` printed ${counted(lines.length, 'line')}; expected one for each of ${counted(count, 'trial')}`,
    );
  return lines.map((text, at) => {
    const given = jsonTable(text) ?? {};
    const names = Object.keys({ ...ranges, ...given });
    const wrong = names.find((name) => !isInRange(ranges[name] ?? [], given[name]));
    if (wrong === undefined) return given as Trial;
    const value = given[wrong] === undefined ? 'missing' : JSON.stringify(given[wrong]).slice(0, 99);
    const range = ranges[wrong];
    const expected = range === undefined ? 'no such parameter' : JSON.stringify(range);
    throw refuse(`, line ${at + 1} of its output: "${wrong}" is ${value}; expected ${expected}`);
  });
}

/** What a trial has come to, as a sampler reads it. */
const outcomeOf = (metric: string) => (job: JobState) => ({
  parameters: job.parameters,
  outcome: stoppedEarly(job) === undefined ? job.outcome : 'stopped-early',
  value: job.metrics[metric],
  rungs: Object.fromEntries(
    job.attempts.flatMap(({ agent }) => (agent?.training?.rungs ?? []).map(({ at, value }) => [at, value])),
  ),
});
