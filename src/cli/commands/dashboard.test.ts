import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { growingRun } from '../../../test/growing-run.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { Fault } from '@updraft/account/fault';
import * as dashboard from './dashboard.ts';

test('the static page is one file without external references', async (t) => {
  const cwd = await temporaryFolder(t);
  const run = await growingRun(t, cwd, ['0000', '0001']);
  await run.succeed('0000');
  const { out } = await runCommand(dashboard, ['--static', 'page.html'], { cwd });
  const file = path.join(cwd, 'page.html');
  assert.equal(out, `${file}\n`);
  const html = await readFile(file, 'utf8');
  assert.match(html, /"state":"success"/);
  assert.doesNotMatch(html, /<(script|link|img)[^>]*(src|href)=/);
});

test('the link is printed and works until the command ends, and ending it is not an error', async (t) => {
  const cwd = await temporaryFolder(t);
  await growingRun(t, cwd, ['0000']);
  const end = new AbortController();
  let status = 0;
  const out = (text: string) => {
    void fetch(text.trim())
      .then((reply) => (status = reply.status))
      .finally(() => end.abort());
  };
  await runCommand(dashboard, ['--here', '--no-open'], { cwd, out, signal: end.signal });
  assert.equal(status, 200);
});

test('stopping a run on the page is recorded in the journal, like the stop command', async (t) => {
  const cwd = await temporaryFolder(t);
  const run = await growingRun(t, cwd, ['0000', '0001']);
  const end = new AbortController();
  let said = '';
  const out = (text: string) => {
    void stopOn(new URL(text.trim()))
      .then((answer) => (said = answer))
      .finally(() => end.abort());
  };
  await runCommand(dashboard, ['--here', '--no-open'], { cwd, out, signal: end.signal, self: ['true'] });
  assert.equal(said, '{"asked":"stop"}');
  const journal = await readFile(path.join(run.folder, 'journal.jsonl'), 'utf8');
  assert.match(journal, /"kind":"stop-requested","jobs":\["0001"\]/);
});

async function stopOn(link: URL): Promise<string> {
  const { headers } = await fetch(link);
  const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const body = JSON.stringify({ jobs: ['0001'] });
  const { origin } = link;
  const answer = await fetch(`${origin}/run/0/stop`, { method: 'POST', headers: { cookie, origin }, body });
  return answer.text();
}

test('an invalid port, an unknown run, and two runs in one file are refused', async (t) => {
  const cwd = await temporaryFolder(t);
  await growingRun(t, cwd, ['0000'], 'a-1');
  await growingRun(t, cwd, ['0000'], 'b-1');
  await assert.rejects(runCommand(dashboard, ['--port', '70000'], { cwd }), /from 0 to 65535/);
  await assert.rejects(runCommand(dashboard, ['nowhere'], { cwd }), Fault);
  await assert.rejects(runCommand(dashboard, ['a', 'b', '--static', 'x.html'], { cwd }), /takes one run/);
  await assert.rejects(
    runCommand(dashboard, ['a', '--static', 'no/such/x.html'], { cwd }),
    /cannot be written/,
  );
});
