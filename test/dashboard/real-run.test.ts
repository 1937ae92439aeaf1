import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import { readRun } from '@updraft/account/report';
import { followRunStates, readRunState } from '../../src/run/run-states.ts';
import { openChromium } from '../browser/shared-chromium.ts';
import { condorHarness } from '../condor/condor-harness.ts';
import { RunHarness } from '../run/run-harness.ts';
import { folderRun, served } from './served.ts';
import { cliMain } from '../programs.ts';

/** Reports progress, waits for a file, and writes a model except in the first attempt of the first job. */
const training = [
  'echo \'{{"epoch": 1, "epochs": 2, "loss": 0.7}}\' >> "$UPDRAFT_PROGRESS"',
  'echo first epoch of "$UPDRAFT_JOB"',
  'while [ ! -e "$GO" ]; do sleep 0.05; done',
  '[ "$UPDRAFT_JOB" != 0000 ] || [ -e "$GO.again" ] || exit 0',
  'echo \'{{"epoch": 2, "epochs": 2, "loss": 0.4}}\' >> "$UPDRAFT_PROGRESS"',
  'echo 1 > model.pt',
].join('; ');

/** The link that `updraft dashboard` prints; it serves until the test ends. */
async function dashboardOf(t: TestContext, harness: RunHarness, run: string): Promise<string> {
  const child = spawn(process.execPath, [cliMain, 'dashboard', path.basename(run), '--no-open', '--here'], {
    cwd: harness.folder,
    env: harness.env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGINT');
    await ended;
  });
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the dashboard ended without a link');
}

test('a real run on this machine is watched, explained and retried on the page of `updraft dashboard`', async (t) => {
  const browser = await openChromium(t);
  if (browser === undefined) return;
  const harness = await RunHarness.make(t);
  await harness.describe(training, 'jobs = 2');
  const submitted = await harness.updraft('submit');
  assert.equal(submitted.code, 0, submitted.err);
  const [run = ''] = await harness.runs();
  const tab = await browser.open();
  await tab.go(await dashboardOf(t, harness, run));
  await tab.untilText('#verdict', 'Yes: nothing is wrong.');
  await tab.untilText('tr[data-job="0001"]', 'training');
  await tab.click('tr[data-job="0001"] button');
  await tab.untilText('#log', 'first epoch of 0001');
  await tab.untilText('#explanation', 'is training');
  await writeFile(harness.env['GO'] ?? '', '');
  await tab.untilText('#verdict', 'Ended: 1 job has no valid result.');
  assert.equal(await tab.text('.live'), 'ended');
  assert.match(await tab.text('#wrong'), /1 job: wrong-output\s+needs you.*model\.pt/s);
  assert.match(await tab.text('#wasted'), /Most of it: wrong-output/);
  await tab.until(`document.querySelectorAll('#curve .line').length > 0`);
  await tab.click('tr[data-job="0000"] button');
  await tab.untilText('.actions', 'Try job 0000 again');
  await writeFile(`${harness.env['GO'] ?? ''}.again`, '');
  await tab.click('.actions button.act');
  await tab.untilText('dialog[open]', `updraft retry`);
  await tab.click('dialog[open] button.act');
  await tab.untilText('#verdict', 'Success: every job has a valid result.');
  await tab.untilText('#explanation', 'Attempt 2');
  assert.deepEqual(tab.errors, []);
});

const queued = `
name = "queued"
[train]
command = "echo on the worker; echo 1 > out.txt"
outputs = ["out.txt"]
[run]
pool = "condor"
jobs = 2
`;

test('a real run on an HTCondor pool is on the page, with its sites, during the run and after it', async (t) => {
  const browser = await openChromium(t);
  if (browser === undefined) return;
  const harness = await condorHarness(t, { 'updraft.toml': queued });
  if (harness === undefined) return;
  const run = await harness.submit();
  const dashboard = await served(t, {
    ...folderRun(run),
    follow: (signal) => followRunStates(run, { clock: systemClock, signal }),
  });
  const tab = await browser.open();
  await tab.go(dashboard.url);
  await tab.untilText('.about', 'pool condor');
  await tab.untilText('#verdict', 'Success: every job has a valid result.');
  assert.match(await tab.text('#sites'), /SITE|site/i);
  await tab.click('tr[data-job="0001"] button');
  await tab.untilText('#log', 'on the worker');
  assert.match(await tab.text('.job .attempts'), /success at .*training \d/s);
  const state = await readRunState(run);
  const { resources } = readRun(run, state).report;
  assert.ok(resources.some(({ name, requestedMax }) => name === 'Disk' && requestedMax > 0));
  assert.deepEqual(tab.errors, []);
});
