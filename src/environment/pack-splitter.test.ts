import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeExecutable, makePack, unpackProgram } from '../../test/environment/make-pack.ts';
import { PackSplitter } from './pack-splitter.ts';

async function split(archive: Buffer, pieceBytes: number) {
  const [tar, program]: [Buffer[], Buffer[]] = [[], []];
  const splitter = new PackSplitter('env.sh', {
    tar: (piece) => void tar.push(Buffer.from(piece)),
    program: (piece) => void program.push(Buffer.from(piece)),
  });
  for (let at = 0; at < archive.length; at += pieceBytes) {
    // The caller may reuse a piece once it was written.
    const piece = Buffer.from(archive.subarray(at, at + pieceBytes));
    await splitter.write(piece);
    piece.fill(0);
  }
  splitter.end();
  return { tar: Buffer.concat(tar), program: Buffer.concat(program).toString('utf8'), of: splitter.program };
}

for (const pieceBytes of [1, 2, 3, 7, 511, 4096, 1 << 20])
  test(`a self-extracting archive is split correctly in pieces of ${pieceBytes} bytes`, async () => {
    const whole = makePack();
    const { tar, program, of } = await split(makeExecutable(whole), pieceBytes);
    assert.ok(tar.equals(whole));
    assert.equal(program, unpackProgram());
    assert.deepEqual(of, { subcommand: [] });
  });

test('an archive of pixi-pack before 0.7 needs a subcommand', async () => {
  assert.deepEqual((await split(makeExecutable(makePack(), { old: true }), 4096)).of, {
    subcommand: ['unpack'],
  });
});

test('a plain tar passes unchanged and has no program', async () => {
  const whole = makePack();
  const { tar, of } = await split(whole, 1000);
  assert.ok(tar.equals(whole));
  assert.equal(of, undefined);
});

test('a truncated self-extracting archive is always detected', async () => {
  const archive = makeExecutable(makePack());
  const header = archive.indexOf('@@END_HEADER@@');
  for (let end = 0; end < archive.length - 3; end += end < header + 100 ? 50 : 997)
    await assert.rejects(
      split(archive.subarray(0, end), 4096),
      { kind: 'environment-broken' },
      `cut at ${end}`,
    );
});

test('a byte in the payload that is not base64 is reported as damage', async () => {
  const archive = makeExecutable(makePack());
  archive.write('!', archive.indexOf('@@END_HEADER@@') + 500);
  await assert.rejects(split(archive, 4096), /its payload is damaged/);
});
