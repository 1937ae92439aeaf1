import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { attemptFiles, attemptFolder, runFiles } from '../job/layout.ts';
import { encode } from './codec.ts';
import type { AgentBody, AgentEntry, Entry, RunBody, RunEntry } from './entry.ts';
import { fold } from './fold.ts';
import { loadRun, merge } from './load-run.ts';
import { describeDamage, type JobState } from './state.ts';

const at = (hours: number): string => new Date(Date.UTC(2026, 0, 1) + hours * 3_600_000).toISOString();
const runJournal = (...bodies: RunBody[]): RunEntry[] =>
  bodies.map((body, seq) => ({ v: 1, t: at(12), seq, ...body }));
const agentJournal = (job: string, attempt: number, hours: number, ...bodies: AgentBody[]): AgentEntry[] =>
  bodies.map((body, seq) => ({ v: 1, t: at(hours), seq, job, attempt, ...body }));

const started = (job: string, attempt: number): RunBody => ({
  kind: 'attempt-started',
  job,
  attempt,
  why: '',
});
const ended = (job: string, attempt: number): RunBody => ({
  kind: 'attempt-ended',
  job,
  attempt,
  outcome: 'failed',
  exit: 1,
});
const hello: AgentBody = { kind: 'agent-started', version: '1', host: 'h', pid: 1, gpus: [] };
const bye: AgentBody = { kind: 'agent-ended', outcome: 'failed', exit: 1 };

const words = (entries: Entry[]): string[] =>
  entries.map((entry) => ('attempt' in entry ? `${entry.kind} ${entry.job}/${entry.attempt}` : entry.kind));

test("an agent's entries come between its attempt's start and end, even if its clock is hours ahead or behind", () => {
  const run = runJournal(started('0', 1), ended('0', 1), started('0', 2), ended('0', 2));
  const ahead = agentJournal('0', 1, 19, hello, bye);
  const behind = agentJournal('0', 2, 3, hello, bye);
  assert.deepEqual(words(merge(run, [behind, ahead])), [
    'attempt-started 0/1',
    'agent-started 0/1',
    'agent-ended 0/1',
    'attempt-ended 0/1',
    'attempt-started 0/2',
    'agent-started 0/2',
    'agent-ended 0/2',
    'attempt-ended 0/2',
  ]);
});

test("an agent's entries are ordered by number, in whatever order they arrive", () => {
  const agent = agentJournal('0', 1, 12, hello, { kind: 'phase', phase: 'training' }, bye);
  const merged = merge(runJournal(started('0', 1)), [agent.toReversed()]);
  assert.deepEqual(words(merged), [
    'attempt-started 0/1',
    'agent-started 0/1',
    'phase 0/1',
    'agent-ended 0/1',
  ]);
});

test("an attempt whose end was never written still comes before the job's next attempt and its end", () => {
  const run = runJournal(started('0', 1), started('0', 2), { kind: 'job-ended', job: '0', outcome: 'lost' });
  const merged = merge(run, [agentJournal('0', 1, 12, hello), agentJournal('0', 2, 12, hello)]);
  assert.deepEqual(words(merged), [
    'attempt-started 0/1',
    'agent-started 0/1',
    'attempt-started 0/2',
    'agent-started 0/2',
    'job-ended',
  ]);
});

test('a retry after the end of the run is not moved before that end', () => {
  const over: RunBody = { kind: 'run-ended', succeeded: 0, failed: 1 };
  const run = runJournal(started('0', 1), over, started('0', 2));
  const merged = merge(run, [agentJournal('0', 2, 12, hello), agentJournal('0', 1, 12, hello)]);
  assert.deepEqual(words(merged), [
    'attempt-started 0/1',
    'agent-started 0/1',
    'run-ended',
    'attempt-started 0/2',
    'agent-started 0/2',
  ]);
});

test('nothing is lost: attempts the run does not know come last, in the order of their numbers', () => {
  const merged = merge(runJournal(), [agentJournal('0', 10, 1, hello), agentJournal('0', 9, 2, hello)]);
  assert.deepEqual(words(merged), ['agent-started 0/9', 'agent-started 0/10']);
});

test('a run of long journals is loaded as if all entries were folded in order, whatever is between them', async (t) => {
  const folder = await temporaryFolder(t);
  const run = runJournal(started('0', 1), started('1', 1), ended('1', 1));
  const reports = Array.from({ length: 2000 }, (_, step): AgentBody => ({
    kind: 'progress',
    step,
    // Of two and four bytes, at the border of any part that is read.
    metrics: { 'Genauigkeit, höher besser 🙂': Math.sin(step), val_loss: Math.cos(step) },
  }));
  const long = agentJournal('0', 1, 12, hello, ...reports);
  const swapped = agentJournal('1', 1, 12, hello, ...reports, bye).toReversed();
  const strays = agentJournal('0', 1, 12, { kind: 'output', path: 'stray', bytes: 1, sha256: '' });
  const write = async (entries: Entry[], ...place: [string, number] | []) => {
    const file =
      place.length === 0
        ? path.join(folder, runFiles.journal)
        : path.join(attemptFolder(folder, ...place), attemptFiles.journal);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, entries.map((entry) => `${encode(entry)}\n{"torn\n\n`).join(''));
  };
  await write(run);
  await write(long, '0', 1);
  await write([...swapped, ...strays], '1', 1);
  const state = await loadRun(folder);
  const { jobs, garbled } = state;
  assert.equal(garbled, run.length + long.length + swapped.length + strays.length);
  const lines = [run.length, long.length, swapped.length + strays.length];
  assert.equal(
    describeDamage({ ...state, run: 'sweep-1' }),
    `Ignored ${garbled.toLocaleString('en')} unreadable lines in the files of sweep-1: ` +
      ['journal.jsonl', 'jobs/0/attempt-1/agent.jsonl', 'jobs/1/attempt-1/agent.jsonl']
        .map((file, index) => `${file} line 2 (first of ${lines[index]?.toLocaleString('en')})`)
        .join(', ') +
      '.',
  );
  const timeless = (list: JobState[]) =>
    list.map((job) => ({ ...job, attempts: job.attempts.map((one) => ({ ...one, heardAt: 0 })) }));
  assert.deepEqual(timeless(jobs), timeless(fold(merge(run, [long, swapped])).jobs));
});

test('an unreadable line is named by its number, also a torn last one, whatever is skipped before it', async (t) => {
  const folder = await temporaryFolder(t);
  const file = path.join(folder, runFiles.journal);
  const good = runJournal(started('0', 1)).map(encode);
  const damageOfText = async (lines: string[]) => {
    await writeFile(file, lines.join('\n'));
    return (await loadRun(folder)).damaged;
  };
  assert.deepEqual(await damageOfText([...good, '']), undefined);
  assert.deepEqual(await damageOfText([...good, ...good, '{"v":1']), [
    { file: 'journal.jsonl', lines: 1, first: 2 * good.length + 1 },
  ]);
  // The second is longer than any entry.
  assert.deepEqual(await damageOfText(['', 'x'.repeat(1 << 21), ...good, '{}', '']), [
    { file: 'journal.jsonl', lines: 2, first: 2 },
  ]);
});
