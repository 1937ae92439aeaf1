import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import {
  makeRecord,
  readRecord,
  ResumeCheck,
  writeRecord,
  type CheckpointRecord,
  type Position,
} from './record.ts';

const about = { attempt: 1, savedAt: '2026-01-02T03:04:05.000Z', code: 'c', position: { epoch: 2 } };
const files = [{ path: 'model.pt', bytes: 3, sha256: 'a'.repeat(64) }];
const record = makeRecord(1, about, files, new Map([['latest', 'model.pt']]));

test('a record is read as it was written', async (t) => {
  const folder = await temporaryFolder(t);
  mkdirSync(path.join(folder, 'files'));
  await writeRecord(folder, record);
  assert.deepEqual(await readRecord(folder), record);
});

const changes: [what: string, change: (copy: CheckpointRecord) => void][] = [
  ['the hash of a file', (copy) => void (copy.files[0]!.sha256 = 'b'.repeat(64))],
  ['the size of a file', (copy) => void (copy.files[0]!.bytes = 4)],
  ['one file fewer', (copy) => void copy.files.pop()],
  ['the target of a link', (copy) => void (copy.links['latest'] = 'other.pt')],
  ['its own hash', (copy) => void (copy.sha256 = 'c'.repeat(64))],
  ['no number', (copy) => void (copy.number = 0)],
];
for (const [what, change] of changes)
  test(`a record that was changed afterwards is damaged: ${what}`, async (t) => {
    const folder = await temporaryFolder(t, { 'record.json': JSON.stringify(record) });
    const file = path.join(folder, 'record.json');
    const copy = JSON.parse(readFileSync(file, 'utf8')) as CheckpointRecord;
    change(copy);
    writeFileSync(file, JSON.stringify(copy));
    await assert.rejects(readRecord(folder), /its record is damaged/);
  });

test('a record whose paths leave the checkpoint folder is damaged, though its hash is right', async (t) => {
  for (const outside of [
    makeRecord(1, about, [{ path: '../x', bytes: 1, sha256: 'a'.repeat(64) }], new Map()),
    makeRecord(1, about, files, new Map([['/etc/x', 'y']])),
    // A training that saves to `latest` would overwrite what these lead to.
    makeRecord(1, about, files, new Map([['latest', '/etc/x']])),
    makeRecord(1, about, files, new Map([['a/latest', '../../x']])),
  ]) {
    const folder = await temporaryFolder(t, { 'record.json': JSON.stringify(outside) });
    await assert.rejects(readRecord(folder), /its record is damaged/);
  }
});

/** The first verdict on what a training reports after it got a checkpoint. */
function verdict(from: Position, began: Position, ...reported: Position[]): boolean | undefined {
  const check = new ResumeCheck(from, began);
  return reported
    .map((position) => check.onPosition(position)?.movedOn)
    .find((movedOn) => movedOn !== undefined);
}

test('a training that reports a position past the checkpoint has resumed', () => {
  assert.equal(verdict({ step: 40 }, { step: 1 }, { step: 41 }), true);
  assert.equal(verdict({ epoch: 1, step: 1 }, { epoch: 1, step: 1 }, { epoch: 2, step: 0 }), true);
  assert.equal(verdict({ epoch: 3, step: 900 }, { epoch: 1, step: 0 }, { epoch: 4, step: 0 }), true);
});

test('a training that repeats a little after its checkpoint has resumed once it is past it', () => {
  const began = { epoch: 1, step: 0 };
  const from = { epoch: 2, step: 300 };
  assert.equal(verdict(from, began, { epoch: 2, step: 0 }), undefined);
  assert.equal(verdict(from, began, { epoch: 2, step: 0 }, { epoch: 2, step: 310 }), true);
  assert.equal(verdict({ step: 100 }, { step: 1 }, { step: 95 }, { step: 99 }, { step: 101 }), true);
});

test('a training that counts from its start again has not resumed, even when it passes the checkpoint later', () => {
  assert.equal(verdict({ step: 40 }, { step: 1 }, { step: 3 }, { step: 4 }), false);
  assert.equal(verdict({ epoch: 5 }, { epoch: 1 }, { epoch: 1 }, { epoch: 2 }), false);
  assert.equal(verdict({ step: 40 }, { step: 1 }, { step: 1 }, { step: 41 }), false);
});

test('a single report, or nothing comparable, gives no verdict', () => {
  assert.equal(verdict({ step: 40 }, { step: 1 }, { step: 1 }), undefined);
  assert.equal(verdict({ step: 40 }, { step: 1 }, { epoch: 1 }, { epoch: 2 }), undefined);
  assert.equal(verdict({}, {}, { step: 1 }, { step: 2 }), undefined);
});
