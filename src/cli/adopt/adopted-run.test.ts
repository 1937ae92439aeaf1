import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { systemClock } from '@updraft/base';
import { parseSubmit, type SubmitFacts } from '@updraft/htcondor/submit';
import { Fault } from '@updraft/account/fault';
import type { LogReport } from '@updraft/account/report';
import { readRunState } from '../../run/run-states.ts';
import * as logs from '../commands/logs.ts';
import * as report from '../commands/report.ts';
import type { Cli } from '../cli.ts';
import { adoptedPlan, plannedRun } from '../../run/submit-adopted.ts';

const description = `executable = run.sh
output = logs/$(Cluster).$(Process).out
initialdir = work
queue 2
`;

const entry = (seq: number, body: object): string =>
  `${JSON.stringify({ v: 1, t: '2026-01-01T00:00:00.000Z', seq, ...body })}\n`;
const event = (number: string, minute: number, text: string): string =>
  `${number} (077.001.000) 2026-01-01 00:${String(minute).padStart(2, '0')}:00Z ${text}\n...\n`;
const log =
  event('000', 0, 'Job submitted from host: <192.0.2.1:9618?alias=ap>') +
  event('040', 1, 'Started transferring input files') +
  event('040', 2, 'Finished transferring input files') +
  event('001', 2, 'Job executing on host: <192.0.2.2:9618?alias=ep>\n\tSlotName: slot1_1@ep') +
  event('040', 42, 'Started transferring output files') +
  event('040', 43, 'Finished transferring output files') +
  event('005', 43, 'Job terminated.\n\t(1) Normal termination (return value 3)');

/** A folder with an adopted run of two jobs, the second of which has run. */
async function adopted(t: TestContext): Promise<string> {
  const created = { run: 'job-a1b2c3', name: 'job', pool: 'condor', planHash: '', version: '0' };
  const cwd = await temporaryFolder(t, {
    'runs/job-a1b2c3/condor/job.sub': description,
    'runs/job-a1b2c3/journal.jsonl':
      entry(0, { kind: 'run-created', ...created, jobs: ['0000', '0001'] }) +
      entry(1, { kind: 'submitted', cluster: 77 }),
    'runs/job-a1b2c3/events.log': log,
    'work/logs/77.1.out': 'epoch 1\n',
  });
  const submission = parseSubmit(description, { file: 'job.sub' });
  const plan = adoptedPlan(path.join(cwd, 'job.sub'), { submission } as SubmitFacts);
  await writeFile(path.join(cwd, 'runs/job-a1b2c3/plan.json'), JSON.stringify(plan));
  return cwd;
}

test('logs of an adopted run are the files that its submit file names', async (t) => {
  const { out } = await runCommand(logs, ['1'], { cwd: await adopted(t) });
  assert.equal(out, 'epoch 1\n');
});

test('logs --err explains that the submit file names no file for stderr', async (t) => {
  const cwd = await adopted(t);
  await assert.rejects(runCommand(logs, ['1', '--err'], { cwd }), (fault) => {
    assert.ok(fault instanceof Fault);
    assert.match(fault.message, /sets no `error`/);
    return true;
  });
});

test('an adopted job without an agent takes its times from HTCondor, and its exit code from the program', async (t) => {
  const cwd = await adopted(t);
  const { out } = await runCommand(report, ['job-a1b2c3', '--json'], { cwd });
  const { slotSeconds, failures } = JSON.parse(out) as LogReport;
  const { lostToFailure, retriedTransfer, returning, queued, unknown } = slotSeconds;
  assert.deepEqual([lostToFailure, retriedTransfer, returning, queued, unknown], [2400, 60, 60, 60, 0]);
  assert.deepEqual(
    failures.map(({ cause, example }) => [cause, example?.reason]),
    [['exit-code', 'the program exited with code 3']],
  );
  const { jobs } = await readRunState(path.join(cwd, 'runs/job-a1b2c3'));
  const training = jobs[1]?.attempts[0]?.spans.find(({ doing }) => doing === 'training');
  assert.equal((training?.to ?? 0) - (training?.from ?? 0), 2_400_000);
});

test('of two commands started at once, a slow one finds the run of the other, even if its jobs have ended', async (t) => {
  const cwd = await adopted(t);
  const file = path.join(cwd, 'job.sub');
  await writeFile(file, description);
  await writeFile(path.join(cwd, 'runs/job-a1b2c3/events.log'), log + log.replaceAll('077.001', '077.000'));
  const facts = { submission: parseSubmit(description, { file: 'job.sub' }) } as SubmitFacts;
  const created = Date.parse('2026-01-01T00:00:00.000Z');
  const found = (since: number, isNew = false): Promise<{ run: string; isResumed: boolean }> =>
    plannedRun({ clock: systemClock } as Cli, file, facts, { withPlugin: false, isNew, since });
  const slow = await found(created - 1);
  assert.deepEqual([slow.run, slow.isResumed], ['job-a1b2c3', true]);
  assert.equal((await found(created - 1, true)).isResumed, false, '--new');
  assert.equal((await found(created + 1)).isResumed, false, 'started later');
});

test('a submit file that asks for logs in XML is not submitted: nothing would be known of its jobs', async (t) => {
  const file = path.join(await temporaryFolder(t, { 'job.sub': description }), 'job.sub');
  const planned = (line: string): Promise<unknown> => {
    const facts = { submission: parseSubmit(`${line}\n${description}`, { file: 'job.sub' }) } as SubmitFacts;
    const wanted = { withPlugin: false, isNew: true, since: 0 };
    return plannedRun({ clock: systemClock } as Cli, file, facts, wanted);
  };
  for (const line of ['log_xml = true', 'log_xml = Yes', '+UserLogUseXML = true'])
    await assert.rejects(planned(line), /^Fault: job\.sub:1: .* in XML, which Updraft does not read$/, line);
  for (const line of ['log_xml = false', 'MY.UserLogUseXML = 2']) await planned(line);
});
