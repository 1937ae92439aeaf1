import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { systemClock } from '../base/clock.ts';
import type { AgentBody } from '../journal/entry.ts';
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
  const noted: AgentBody[] = [];
  await cleanUp(scratch, context, (body) => void noted.push(body), isWritten);
  return noted;
}

test('not one file is removed where the pool removes the sandbox', async (t) => {
  const scratch = await scratchOf(t);
  assert.deepEqual(await clean(scratch, contextOf('always')), [
    { kind: 'cleaned', files: 0, bytes: 0, by: 'pool' },
  ]);
  assert.equal(readdirSync(scratch).length, count);
});

test('a pool that cleans up when it wants the machine back is left to it only then', async (t) => {
  const scratch = await scratchOf(t);
  assert.deepEqual(await clean(scratch, contextOf('when-asked', true)), [
    { kind: 'cleaned', files: 0, bytes: 0, by: 'pool' },
  ]);
  assert.equal(readdirSync(scratch).length, count);
  const noted = await clean(scratch, contextOf('when-asked'));
  assert.deepEqual(noted.at(-1), { kind: 'cleaned', files: count, bytes: count });
  assert.equal(existsSync(scratch), false);
});

test('where nobody else cleans up, being asked to leave is no reason to leave anything', async (t) => {
  const scratch = await scratchOf(t);
  assert.deepEqual(await clean(scratch, contextOf(undefined, true)), [
    { kind: 'phase', phase: 'cleaning' },
    { kind: 'cleaned', files: count, bytes: count },
  ]);
  assert.equal(existsSync(scratch), false);
});

test('a clean-up says how far it is', async (t) => {
  const scratch = await scratchOf(t);
  let now = 0;
  const clock = { ...systemClock, monotonic: () => (now += 600) };
  const noted = await clean(scratch, { ...contextOf(undefined), clock });
  assert.ok(noted.some((body) => body.kind === 'clean-progress' && body.files < count));
});

test('a journal that found no room gets some, and no more is removed than that takes', async (t) => {
  const scratch = await scratchOf(t);
  const isWritten = (): Promise<boolean> => Promise.resolve(readdirSync(scratch).length < count);
  const last = (await clean(scratch, contextOf('always'), isWritten)).at(-1);
  assert.ok(last?.kind === 'cleaned' && last.by === 'pool', JSON.stringify(last));
  assert.ok(existsSync(scratch));
  const left = readdirSync(scratch).length;
  assert.ok(left > 0 && left < count, String(left));
});
