import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { systemClock } from '@updraft/base';
import type { AgentBody } from '@updraft/account/journal';
import type { Context } from './attempt.ts';
import { cleanUp } from './clean-up.ts';

const count = 100;

async function scratchOf(t: TestContext): Promise<string> {
  const scratch = path.join(await temporaryFolder(t, {}), 'scratch');
  await mkdir(scratch);
  for (let file = 0; file < count; file++) await writeFile(path.join(scratch, String(file)), 'x');
  return scratch;
}

const contextOf = (poolCleans: Context['poolCleans'], isAsked = false): Context =>
  ({
    clock: systemClock,
    signal: isAsked ? AbortSignal.abort() : new AbortController().signal,
    forceStop: new AbortController().signal,
    ...(poolCleans === undefined ? {} : { poolCleans }),
  }) as Context;

const written = (): Promise<boolean> => Promise.resolve(true);

async function clean(scratch: string, context: Context, isWritten = written): Promise<AgentBody[]> {
  const recorded: AgentBody[] = [];
  await cleanUp(scratch, context, (body) => void recorded.push(body), isWritten);
  return recorded;
}

test('no file is removed if the pool removes the sandbox', async (t) => {
  const scratch = await scratchOf(t);
  assert.deepEqual(await clean(scratch, contextOf('always')), [
    { kind: 'cleaned', files: 0, bytes: 0, by: 'pool' },
  ]);
  assert.equal(readdirSync(scratch).length, count);
});

test('clean-up is left to the pool only when it wants the machine back', async (t) => {
  const scratch = await scratchOf(t);
  assert.deepEqual(await clean(scratch, contextOf('when-asked', true)), [
    { kind: 'cleaned', files: 0, bytes: 0, by: 'pool' },
  ]);
  assert.equal(readdirSync(scratch).length, count);
  const recorded = await clean(scratch, contextOf('when-asked'));
  assert.deepEqual(recorded.at(-1), { kind: 'cleaned', files: count, bytes: count });
  assert.equal(existsSync(scratch), false);
});

test('if the pool does not clean up, everything is removed even after a request to leave', async (t) => {
  const scratch = await scratchOf(t);
  assert.deepEqual(await clean(scratch, contextOf(undefined, true)), [
    { kind: 'phase', phase: 'cleaning' },
    { kind: 'cleaned', files: count, bytes: count },
  ]);
  assert.equal(existsSync(scratch), false);
});

test('a clean-up records its progress', async (t) => {
  const scratch = await scratchOf(t);
  let now = 0;
  const clock = { ...systemClock, monotonic: () => (now += 600) };
  const recorded = await clean(scratch, { ...contextOf(undefined), clock });
  assert.ok(recorded.some((body) => body.kind === 'clean-progress' && body.files < count));
});

test('if the journal does not fit on the disk, just enough is removed for it', async (t) => {
  const scratch = await scratchOf(t);
  const isWritten = (): Promise<boolean> => Promise.resolve(readdirSync(scratch).length < count);
  const last = (await clean(scratch, contextOf('always'), isWritten)).at(-1);
  assert.ok(last?.kind === 'cleaned' && last.by === 'pool', JSON.stringify(last));
  assert.ok(existsSync(scratch));
  const left = readdirSync(scratch).length;
  assert.ok(left > 0 && left < count, String(left));
});
