import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Evidence } from '../../adopt/evidence.ts';
import { parseSubmit } from '../../adopt/parse-submit.ts';
import { Fault } from '../../fault/fault.ts';
import * as logs from '../commands/logs.ts';
import { adoptedPlan } from './adopted-plan.ts';

const description = `executable = run.sh
output = logs/$(Cluster).$(Process).out
initialdir = work
queue 2
`;

const entry = (seq: number, body: object): string =>
  `${JSON.stringify({ v: 1, t: '2026-01-01T00:00:00.000Z', seq, ...body })}\n`;

/** The folder of a run that was made of a submit description, with two jobs of which the second has run. */
async function adopted(t: TestContext): Promise<string> {
  const created = { run: 'job-a1b2c3', name: 'job', pool: 'condor', planHash: '', version: '0' };
  const cwd = await temporaryFolder(t, {
    'runs/job-a1b2c3/condor/job.sub': description,
    'runs/job-a1b2c3/journal.jsonl':
      entry(0, { kind: 'run-created', ...created, jobs: ['0000', '0001'] }) +
      entry(1, { kind: 'submitted', cluster: 77 }) +
      entry(2, { kind: 'attempt-started', job: '0001', attempt: 1, why: '' }),
    'work/logs/77.1.out': 'epoch 1\n',
  });
  const submission = parseSubmit(description, { file: 'job.sub' });
  const plan = adoptedPlan(path.join(cwd, 'job.sub'), { submission } as Evidence);
  await writeFile(path.join(cwd, 'runs/job-a1b2c3/plan.json'), JSON.stringify(plan));
  return cwd;
}

test('logs of an adopted run are the files that its submit description names', async (t) => {
  const cwd = await adopted(t);
  const { out } = await runCommand(logs, ['1'], { cwd });
  assert.equal(out, 'epoch 1\n');
});

test('a submit description that names no file for stderr is told as the reason why there is none', async (t) => {
  const cwd = await adopted(t);
  await assert.rejects(runCommand(logs, ['1', '--err'], { cwd }), (fault) => {
    assert.ok(fault instanceof Fault);
    assert.match(fault.message, /names no `error`/);
    return true;
  });
});
