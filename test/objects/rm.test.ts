import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ObjectHarness } from './object-harness.ts';

test('an object is deleted at its origin, with a token that allows it, and caches are mentioned', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('inbox/me/a, 50%20.txt', 'a');
  const url = 'osdf:///inbox/me/a, 50%2520.txt';
  const reader = await harness.tokenEnv({ namespace: '/inbox', scope: 'storage.read:/ storage.create:/' });
  const refused = await harness.updraft(['rm', url], { env: reader });
  assert.equal(refused.exit, 94, refused.err);
  assert.match(refused.err, /scope storage\.modify/);
  assert.equal((await harness.updraft(['rm', url])).exit, 93);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  const dry = await harness.updraft(['rm', '--dry-run', url], { env });
  assert.match(dry.err, /1 object would be deleted; nothing was/);
  assert.ok(existsSync(harness.published('inbox/me/a, 50%20.txt')));
  const done = await harness.updraft(['rm', url], { env });
  assert.equal(done.exit, 0, done.err);
  assert.match(done.err, /1 object deleted at the origin; caches may still serve their copies for a while/);
  assert.ok(!existsSync(harness.published('inbox/me/a, 50%20.txt')));
  const again = await harness.updraft(['rm', '--json', url], { env });
  assert.equal(again.exit, 96, again.out);
});

test('a folder is deleted only with --recursive and confirmation; a root never', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  for (const name of ['a', 'deep/b', 'deep/er/c']) await harness.publish(`inbox/old/${name}`, name);
  await harness.publish('inbox/other', 'x');
  const url = 'osdf:///inbox/old';
  const asked: string[] = [];
  const answer = (said: string) => (question: string) => {
    asked.push(question);
    return Promise.resolve(said);
  };
  const refusals: [string[], RegExp, object?][] = [
    [[url], /is a folder\n.*updraft rm --recursive/],
    [['-r', url], /no terminal to ask on: add --yes/],
    [['-r', url], /nothing was deleted/, { ask: answer('no') }],
    [['-r', '-y', 'osdf:///inbox'], /is the root of the namespace \/inbox/],
    [['-r', '-y', 'osdf:///'], /names no object/],
    [['-r', '-y', 'osdf:///demo/x'], /does not allow deletes/],
    [['-r', '-y', 'https://example.org/x'], /is not in a federation/],
    // All are checked before the first one is deleted.
    [['-r', '-y', url, 'osdf:///inbox/none'], /inbox\/none is not there/],
  ];
  for (const [words, message, context] of refusals) {
    const said = await harness.updraft(['rm', ...words], { env, ...context });
    assert.match(said.err, message, words.join(' '));
    assert.notEqual(said.exit, 0);
    assert.ok(existsSync(harness.published('inbox/old/deep/er/c')), words.join(' '));
  }
  assert.match(asked[0] ?? '', /^delete 3 objects \(16 B\) below osdf:\/\/\/inbox\/old\? \[y\/N\] $/);
  const done = await harness.updraft(['rm', '-r', url], { env, ask: answer('y') });
  assert.equal(done.exit, 0, done.err);
  assert.ok(!existsSync(harness.published('inbox/old')));
  assert.ok(existsSync(harness.published('inbox/other')));
});

test('files added to a folder after it was listed stay', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await harness.publish('inbox/old/a', 'a');
  const ask = async (): Promise<string> => {
    await writeFile(harness.published('inbox/old/late'), 'late');
    return 'yes';
  };
  const { exit, err } = await harness.updraft(['rm', '-r', 'osdf:///inbox/old'], { env, ask });
  assert.equal(exit, 98, err);
  assert.ok(existsSync(harness.published('inbox/old/late')));
  assert.ok(!existsSync(harness.published('inbox/old/a')));
});
