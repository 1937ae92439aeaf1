import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Finding } from '@updraft/base';
import { lintSubmission } from '@updraft/htcondor/lint';
import { surveyOnDisk } from '@updraft/htcondor/submit';
import { limitsAt } from '../../src/pool/htcondor.ts';

/** What is known apart from the submit file. */
interface Circumstances {
  pool?: string;
  /** What the pool recommends at most as input of a job. */
  adviseBytes?: number;
}

/** The findings in a submit file of these lines, which is left in the folder as `job.sub`. */
export async function lintLines(
  folder: string,
  lines: readonly string[],
  { pool = 'htcondor', adviseBytes }: Circumstances = {},
): Promise<Finding[]> {
  const file = path.join(folder, 'job.sub');
  await writeFile(file, `${lines.join('\n')}\n`);
  const now = new Date('2026-11-15T00:00:00Z');
  const limits = { ...(await limitsAt(pool)), ...(adviseBytes === undefined ? {} : { adviseBytes }) };
  return lintSubmission(surveyOnDisk({ file, env: { HOME: '/' }, now, limits }));
}

/** All that a rule advises, with its lines for the submit file. */
export function adviceIn(findings: readonly Finding[], rule: string): string {
  const found = findings.filter((finding) => finding.rule === rule);
  assert.notEqual(found.length, 0, `no finding ${rule}`);
  return found.map(({ fix }) => fix).join('\n');
}

/** The same for a submit file of these lines. */
export const adviceFor = async (folder: string, rule: string, lines: readonly string[]): Promise<string> =>
  adviceIn(await lintLines(folder, lines), rule);

/** The same, as lines. */
export const linesFor = async (folder: string, rule: string, lines: readonly string[]): Promise<string[]> =>
  linesIn(await adviceFor(folder, rule, lines));

/** The lines that a piece of advice says to write: each is on a line of its own. */
export const linesIn = (advice: string): string[] =>
  advice.split('\n').filter((line) => /^\+?\w+ = /.test(line));

const nameOf = (line: string): string => (line.split('=')[0] ?? '').trim().toLowerCase();

/** The file with these lines instead of its own for the same names, before its queue statement. */
export function withLines(lines: readonly string[], advised: readonly string[]): string[] {
  const names = new Set(advised.map(nameOf));
  const kept = lines.filter((line) => !line.includes('=') || !names.has(nameOf(line)));
  const queue = kept.findIndex((line) => /^queue\b/.test(line));
  return kept.toSpliced(queue === -1 ? kept.length : queue, 0, ...advised);
}
