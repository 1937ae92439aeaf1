import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { Fault } from '@updraft/account/fault';
import { findRun as find } from './find-run.ts';

const findRun = (cwd: string, word: string | undefined) =>
  find({ cwd, err: () => undefined, ask: undefined }, word);

/** A folder with runs created at these times. */
async function folderWith(t: TestContext, runs: Record<string, string>): Promise<string> {
  const files = Object.entries(runs).map(([name, time]) => [
    `runs/${name}/journal.jsonl`,
    `{"v":1,"t":"${time}","seq":0,"kind":"run-created"}\n`,
  ]);
  return temporaryFolder(t, Object.fromEntries(files) as Record<string, string>);
}

const three = {
  'cifar10-aaa111': '2026-01-01T00:00:00.000Z',
  'cifar10-bbb222': '2026-01-03T00:00:00.000Z',
  'image-net-ccc333': '2026-01-02T00:00:00.000Z',
};

test('a run is found by its folder, its id, the start of either, or its name', async (t) => {
  const cwd = await folderWith(t, three);
  const found = async (word?: string) => path.basename((await findRun(cwd, word)).folder);
  assert.equal(await found(), 'cifar10-bbb222', 'without an argument: the latest');
  assert.equal(await found('cifar10'), 'cifar10-bbb222', 'a name: the latest of that name');
  assert.equal(await found('image-net'), 'image-net-ccc333');
  assert.equal(await found('cifar10-aaa111'), 'cifar10-aaa111');
  assert.equal(await found('aaa111'), 'cifar10-aaa111');
  assert.equal(await found('aaa'), 'cifar10-aaa111');
  assert.equal(await found('image'), 'image-net-ccc333');
  assert.equal(await found('runs/cifar10-aaa111/'), 'cifar10-aaa111');
});

test('a run that was not completely created is not found', async (t) => {
  const cwd = await folderWith(t, { ...three, '.cifar10-ddd444.draft': '2026-01-04T00:00:00.000Z' });
  assert.equal((await findRun(cwd, undefined)).folder, path.join(cwd, 'runs/cifar10-bbb222'));
});

test('runs are found from a subfolder, and inside the folder of a run that one comes first', async (t) => {
  const cwd = await folderWith(t, three);
  const below = path.join(cwd, 'src', 'deep');
  await mkdir(below, { recursive: true });
  assert.equal((await findRun(below, 'aaa111')).folder, path.join(cwd, 'runs/cifar10-aaa111'));
  const within = path.join(cwd, 'runs/cifar10-aaa111');
  assert.equal((await findRun(within, undefined)).folder, within);
});

test('an ambiguous name lists the runs it could mean', async (t) => {
  const cwd = await folderWith(t, three);
  await assert.rejects(findRun(cwd, 'cif'), (thrown) => {
    assert.ok(thrown instanceof Fault && thrown.kind === 'usage');
    assert.match(thrown.fix ?? '', /cifar10-bbb222, cifar10-aaa111$/);
    return true;
  });
});

test('an unknown name lists the existing runs, or says how to start one', async (t) => {
  const cwd = await folderWith(t, three);
  await assert.rejects(findRun(cwd, 'nope\x1b[2J'), (thrown) => {
    assert.ok(thrown instanceof Fault);
    assert.ok(!thrown.message.includes('\x1b'), 'no control characters');
    return /image-net-ccc333/.test(thrown.fix ?? '');
  });
  const empty = await temporaryFolder(t, { 'runs/half-made/plan.json': '{}' });
  await assert.rejects(
    findRun(empty, undefined),
    (thrown) => thrown instanceof Fault && /updraft run/.test(thrown.fix ?? ''),
  );
});

test('the name of a folder is quoted in command lines', async (t) => {
  const cwd = await folderWith(t, { "it's-aaa111": '2026-01-01T00:00:00.000Z' });
  assert.equal((await findRun(cwd, undefined)).argument, String.raw`'it'\''s-aaa111'`);
});

test('a run above that nobody named is said where it is only read, and asked for where it is changed', async (t) => {
  const cwd = await folderWith(t, three);
  const below = path.join(cwd, 'src');
  await mkdir(below);
  let said = '';
  const cli = { cwd: below, err: (text: string) => void (said += text), ask: undefined };
  const folder = path.join(cwd, 'runs/cifar10-bbb222');
  assert.deepEqual(await find(cli, undefined), { folder, argument: 'cifar10-bbb222', isAbove: true });
  assert.match(
    said,
    new RegExp(`^this folder has no run; the latest one above it is cifar10-bbb222 in ${cwd}\n$`),
  );
  const changes = { command: 'retry', jobs: ['0007'] };
  await assert.rejects(find(cli, undefined, changes), (thrown) => {
    assert.ok(thrown instanceof Fault && thrown.kind === 'usage');
    assert.equal(thrown.fix, 'name it: updraft retry cifar10-bbb222 0007');
    return true;
  });
  const answering = (answer: string) => ({ ...cli, ask: () => Promise.resolve(answer) });
  await assert.rejects(find(answering('n'), undefined, changes), Fault);
  assert.equal((await find(answering('y'), undefined, changes)).argument, 'cifar10-bbb222');
  said = '';
  assert.deepEqual(await find(cli, 'cifar10', changes), { folder, argument: 'cifar10-bbb222' });
  assert.equal((await find({ ...cli, cwd }, undefined, changes)).argument, 'cifar10-bbb222');
  const inside = path.join(cwd, 'runs/cifar10-aaa111');
  assert.equal((await find({ ...cli, cwd: inside }, undefined, changes)).argument, 'cifar10-aaa111');
  assert.equal(said, '', 'a run that was named, or is here, needs no word');
});
