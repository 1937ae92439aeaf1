import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import { kinds } from '@updraft/account/fault';
import { makeClaim } from '../job/claim.ts';
import { type AgentBody, openAgentJournal } from '@updraft/account/journal';
import { readAttemptExit } from './attempt-exit.ts';

async function attemptOf(t: TestContext, ...bodies: AgentBody[]): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'attempt-end-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  if (bodies.length === 0) return folder;
  await using journal = await openAgentJournal(
    path.join(folder, 'agent.jsonl'),
    { job: '0000', attempt: 1 },
    systemClock,
  );
  for (const body of bodies) await journal.append(body);
  return folder;
}

const killed = { code: null, signal: 'SIGKILL' };

test("the agent's final entry decides, whatever its process did afterwards", async (t) => {
  const fault = { kind: 'transfer-stalled', message: 'no bytes for 60 s' } as const;
  const folder = await attemptOf(
    t,
    { kind: 'fault', fault },
    { kind: 'agent-ended', outcome: 'failed', exit: 99 },
  );
  assert.deepEqual(await readAttemptExit(folder, killed), { outcome: 'failed', exit: 99, fault });
});

test('a success has no fault, even if the agent reported one on the way', async (t) => {
  const fault = { kind: 'internal', message: 'a warning' } as const;
  const folder = await attemptOf(
    t,
    { kind: 'fault', fault },
    { kind: 'agent-ended', outcome: 'success', exit: 0 },
  );
  assert.deepEqual(await readAttemptExit(folder, undefined), { outcome: 'success', exit: 0 });
});

test('an agent that was killed, or whose exit was not seen, is lost', async (t) => {
  const folder = await attemptOf(t, { kind: 'phase', phase: 'training' });
  const seen = await readAttemptExit(folder, killed);
  assert.equal(seen.outcome, 'lost');
  assert.match(seen.fault!.message, /killed by SIGKILL/);
  assert.equal((await readAttemptExit(folder, undefined)).outcome, 'lost');
});

test('an agent that exited without reporting is judged by its exit code and quoted', async (t) => {
  const folder = await attemptOf(t);
  await writeFile(path.join(folder, 'agent.log'), 'updraft-agent: invalid work order\n  fix: submit again\n');
  const end = await readAttemptExit(folder, { code: 117, signal: null });
  assert.equal(end.fault!.kind, 'order-invalid');
  assert.match(end.fault!.message, /exited with code 117.*updraft-agent: invalid work order/);
  assert.equal((await readAttemptExit(folder, { code: 1, signal: null })).fault!.kind, 'internal');
});

test('a voided attempt is lost, with the reason', async (t) => {
  const folder = await attemptOf(t);
  await makeClaim(folder, { void: 'the supervisor died' });
  const end = await readAttemptExit(folder, undefined);
  assert.deepEqual([end.outcome, end.fault!.message], ['lost', 'the supervisor died']);
});

test('an agent without room to report: the folder is named, and where its results are kept', async (t) => {
  const folder = await attemptOf(t);
  const order = { run: 'a', job: { id: '0000' }, scratchParent: path.join(folder, 'scratch') };
  await writeFile(path.join(folder, 'order.json'), JSON.stringify(order));
  const full = { code: kinds['run-folder-full'].exit, signal: null };
  const said = async (): Promise<string> => (await readAttemptExit(folder, full)).fault?.message ?? '';
  assert.match(await said(), /could not record in \S+ how the attempt ended: no space left on \S+ \([^;]*$/);
  await mkdir(path.join(folder, 'updraft-kept-a-0000'));
  assert.match(await said(), /; the results are kept in \S+updraft-kept-a-0000$/);
});
