/** Reading a run from its folder: the order of journals, long ones, damaged lines. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { attemptFiles, attemptFolder, runFiles } from './layout.ts';
import { encode } from './codec.ts';
import type { AgentBody, AgentEntry, Entry, RunBody, RunEntry } from './entry.ts';
import { fold } from './fold.ts';
import { loadRun } from './load-run.ts';
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

test("the state is the same, whenever an agent's entries come, and whatever its clock says", () => {
  const run = runJournal(started('0', 1), ended('0', 1), started('0', 2), ended('0', 2));
  const ahead = agentJournal('0', 1, 19, hello, bye);
  const behind = agentJournal('0', 2, 3, hello, bye);
  const [first, second, third, fourth] = run as [RunEntry, RunEntry, RunEntry, RunEntry];
  const inOrder = fold([first, ...ahead, second, third, ...behind, fourth]);
  const [attempt] = inOrder.jobs[0]?.attempts ?? [];
  assert.deepEqual([attempt?.ending, attempt?.agent?.outcome], ['failed', 'failed']);
  assert.deepEqual(fold([...run, ...behind, ...ahead]), inOrder);
  assert.deepEqual(fold([...ahead, ...behind, ...run]), inOrder);
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
  const other = agentJournal('1', 1, 12, hello, ...reports, bye);
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
  await write([...other, ...strays], '1', 1);
  const state = await loadRun(folder);
  const { jobs, garbled } = state;
  assert.equal(garbled, run.length + long.length + other.length + strays.length);
  const lines = [run.length, long.length, other.length + strays.length];
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
  assert.deepEqual(timeless(jobs), timeless(fold([...run, ...long, ...strays, ...other]).jobs));
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
