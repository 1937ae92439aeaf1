import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { condorHarness, onlyJob, type CondorHarness } from './condor-harness.ts';
import { cliMain } from '../programs.ts';

/** A training that prints, and continues when the file `go` exists. */
const talking = (go: string): string => `
name = "talking"
[train]
command = '''
echo first é; echo aside >&2
seq 60000
until [ -e "${go}" ]; do sleep 0.1; done
echo last; echo 1 > out.txt
'''
outputs = ["out.txt"]
[run]
pool = "condor"
`;

/** Starts `updraft logs`; `until` waits for a word in its output. */
function logs(t: TestContext, { folder, env }: CondorHarness, ...args: string[]) {
  const child = spawn(process.execPath, [cliMain, 'logs', ...args], {
    cwd: folder,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (said.err += text));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...said }));
  const until = async (word: string): Promise<void> => {
    while (!said.out.includes(word)) await Promise.race([once(child.stdout, 'data'), ended.then(fail)]);
  };
  const fail = (): never => assert.fail(`it exited: ${said.out.slice(-500)}${said.err}`);
  return { child, said, ended, until };
}

test('the output of a running job is followed, and each byte is shown once', async (t) => {
  const harness = await condorHarness(t, {});
  if (harness === undefined) return;
  const place = await harness.meetingPlace();
  await writeFile(path.join(harness.folder, 'updraft.toml'), talking(`${place.onWorker}/go`));
  const run = await harness.submit();
  const following = logs(t, harness, '-f');
  await following.until('\n60000\n');

  const [once, aside] = await Promise.all([logs(t, harness).ended, logs(t, harness, '--err').ended]);
  assert.equal(aside.out, 'aside\n', aside.err);
  // While the job runs, only the last page is shown, with the number of bytes before it.
  assert.ok(once.out.endsWith('\n59999\n60000\n'), once.err);
  assert.match(once.err, /^--- \d+ bytes left out here: the full log comes when the attempt ends ---$/m);

  const left = logs(t, harness, '-f');
  await left.until('60000\n');
  left.child.kill('SIGINT');
  const { code, err } = await left.ended;
  assert.deepEqual([code, /stopped by the user/.test(err)], [5, true], err);

  await writeFile(path.join(place.here, 'go'), '');
  const whole = await following.ended;
  assert.equal(whole.code, 0, whole.err);
  const shown = whole.out.split('\n');
  assert.deepEqual([shown.at(-3), shown.at(-2)], ['60000', 'last']);
  assert.equal(new Set(shown).size, shown.length);
  assert.equal(onlyJob(await harness.finish(run)).outcome, 'success');
  const after = await logs(t, harness).ended;
  const numbers = Array.from({ length: 60_000 }, (_, index) => String(index + 1));
  assert.equal(after.out, ['first é', ...numbers, 'last', ''].join('\n'));
});
