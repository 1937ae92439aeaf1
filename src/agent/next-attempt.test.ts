import assert from 'node:assert/strict';
import { appendFile, mkdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import type { Policy } from '@updraft/account/recovery';
import { nextAttempt, shellAssignments } from './next-attempt.ts';

const usual: Policy = {
  attempts: 5,
  avoid: 'machine',
  memory: { asked: 1e9, most: 4e9 },
  disk: { asked: 1e9, most: 1e9 },
  backoff: { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 0 },
};
const [noGpu, missing, evicted, timeLimit, killed, endedByTerm] = [115, 96, 113, 114, 137, 143];
const t = '2026-01-01T00:00:00.000Z';

interface Ended {
  status: number;
  /** Bodies of the agent's own journal. */
  agent?: object[];
  isAsked?: boolean;
  memory?: string;
}

/** A job whose attempts end one after the other; each result is what its script would do. */
async function jobOn(context: TestContext, policy: Partial<Policy> = {}) {
  const folder = await temporaryFolder(context, {
    'policy.json': JSON.stringify({ ...usual, ...policy }),
    'slurm.jsonl': '',
  });
  const journal = path.join(folder, 'slurm.jsonl');
  const append = (body: object) =>
    appendFile(journal, `${JSON.stringify({ v: 1, t, seq: 0, job: '0000', ...body })}\n`);
  let attempt = 0;
  const end = async ({ status, agent = [], isAsked = false, memory }: Ended) => {
    const attemptFolder = path.join(folder, `attempt-${++attempt}`);
    await mkdir(attemptFolder);
    const lines = agent.map((body) => JSON.stringify({ v: 1, t, seq: 0, job: '0000', attempt, ...body }));
    await writeFile(path.join(attemptFolder, 'agent.jsonl'), lines.map((line) => `${line}\n`).join(''));
    const env = memory === undefined ? {} : { SLURM_MEM_PER_NODE: memory };
    const ended = {
      policy: path.join(folder, 'policy.json'),
      journal,
      folder: attemptFolder,
      status,
      isAsked,
    };
    const next = await nextAttempt(ended, env, Date.now());
    const { outcome, moved } = next;
    await append({
      kind: 'attempt-ended',
      attempt,
      outcome,
      exit: status,
      ...(moved ? { movedOn: true } : {}),
    });
    return next;
  };
  return { end, append, folder };
}

test('after a node fails, others are tried at once, then after waits, until the attempts are used up', async (context) => {
  const { end } = await jobOn(context, { attempts: 4 });
  const answers = [];
  for (let time = 0; time < 4; time++) answers.push(await end({ status: noGpu }));
  assert.deepEqual(
    answers.map(({ again, delay, avoid }) => [again, delay, avoid]),
    [
      [true, 0, true],
      [true, 0, true],
      [true, 1200, true],
      [false, 0, true],
    ],
  );
});

test('temporary trouble waits longer each time; what would fail the same way is not tried again', async (context) => {
  const { end } = await jobOn(context);
  assert.deepEqual(
    [(await end({ status: missing })).delay, (await end({ status: missing })).delay],
    [300, 600],
  );
  assert.equal((await end({ status: 3 })).again, false);
});

test('a training that is killed gets twice the memory, up to what the policy allows', async (context) => {
  const { end } = await jobOn(context);
  assert.deepEqual(await end({ status: killed }).then(({ again, more }) => [again, more]), [true, 1908]);
  assert.equal((await end({ status: killed, memory: '1908' })).more, 3815);
  const { again, more } = await end({ status: killed, memory: '3815' });
  assert.deepEqual([again, more], [false, undefined]);
});

test('after a time limit with progress, attempts are unlimited; without progress there is none', async (context) => {
  const { end } = await jobOn(context);
  const saved = { kind: 'checkpoint-saved', files: 1, bytes: 1, sha256: '', why: 'asked' };
  const restored = { kind: 'checkpoint-restored', files: 1, bytes: 1, sha256: '', savedBy: 1 };
  const moved = { kind: 'resume-checked', movedOn: true };
  const on = (...agent: object[]) => end({ status: timeLimit, agent });
  for (let time = 0; time < 6; time++) {
    const { again, delay, moved: isMoved } = await on(saved, restored, moved);
    assert.deepEqual([again, delay, isMoved], [true, 0, true]);
  }
  assert.ok((await on(saved)).again);
  assert.ok(!(await on(saved, restored)).again);
});

test('an eviction is retried at once, any number of times, until give_up_after', async (context) => {
  const { end, folder } = await jobOn(context, { giveUpSeconds: 3600 });
  for (let time = 0; time < 12; time++)
    assert.equal(
      shellAssignments(
        await end([{ status: evicted }, { status: 3, isAsked: true }, { status: endedByTerm }][time % 3]!),
      ),
      'outcome=evicted again=1 delay=0 avoid= more= moved=',
    );
  const longAgo = Date.now() / 1000 - 7200;
  await utimes(path.join(folder, 'policy.json'), longAgo, longAgo);
  assert.equal((await end({ status: evicted })).again, false);
  assert.equal((await end({ status: noGpu })).again, false);
});

test('failures before the job was submitted again do not count', async (context) => {
  const { end, append } = await jobOn(context, { attempts: 2 });
  assert.ok((await end({ status: noGpu })).again);
  assert.ok(!(await end({ status: noGpu })).again);
  await append({ kind: 'round-started', round: 2, jobs: ['0000'], why: '' });
  assert.ok((await end({ status: noGpu })).again);
});
