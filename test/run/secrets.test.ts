import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { RunHarness } from './run-harness.ts';

const secret = 'S3cr3t-value-0123456789';

test('a secret reaches the training and nothing else: no file, log or report contains it', async (t) => {
  const harness = await RunHarness.make(t);
  const command =
    'echo "key is $WANDB_API_KEY"; echo "loss=1 $TWO" >&2; printf %s "$WANDB_API_KEY" | tr S s > model.pt; test ! -e ../../secrets.json';
  const secrets =
    '[train.secrets]\nWANDB_API_KEY = { from = "env" }\nTWO = { from = "file", path = "two" }\n';
  await harness.describe(command, '', secrets);
  const missing = await harness.updraft('submit');
  assert.match(missing.err, /the secret WANDB_API_KEY is not in the environment variable WANDB_API_KEY/);
  assert.match((await harness.updraft('plan')).out, /secrets +WANDB_API_KEY from .*, which is missing/);
  const checked = await harness.updraft('check');
  assert.match(checked.out + checked.err, /secret-missing/);

  harness.env['WANDB_API_KEY'] = secret;
  await writeFile(path.join(harness.folder, 'two'), `${secret}-two\n`);
  const ran = await harness.updraft('run');
  assert.equal(ran.code, 0, ran.err + ran.out);
  const [run = ''] = await harness.runs();
  const result = await readFile(path.join(run, 'results/0000/model.pt'), 'utf8');
  assert.equal(result.trim(), secret.replaceAll('S', 's'));
  const log = await readFile(path.join(run, 'jobs/0000/attempt-1/out.log'), 'utf8');
  assert.equal(log, `key is ${'*'.repeat(secret.length)}\n`);
  await harness.updraft('report', '--html', 'report.html');
  const shown = await harness.updraft('logs');
  assert.ok(!(ran.out + ran.err + shown.out + (await harness.updraft('why')).out).includes(secret));
  const found = (folder: string): string =>
    execFileSync('sh', ['-c', `grep -rlF -e ${secret} -- ${folder} || true`], {
      cwd: harness.folder,
    }).toString();
  assert.equal(found('runs state scratch report.html'), '');

  for (const name of [
    'plan.json',
    'journal.jsonl',
    'jobs/0000/attempt-1/order.json',
    'jobs/0000/attempt-1/out.log',
  ])
    assert.equal((await stat(path.join(run, name))).mode & 0o077, 0, name);
  assert.equal((await stat(path.join(run, 'jobs'))).mode & 0o077, 0);
  assert.deepEqual(await readdir(path.join(harness.folder, 'state/updraft/secrets')), []);
});
