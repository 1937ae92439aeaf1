import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tarEntry } from '../../test/archives/make-tar.ts';
import { makePack } from '../../test/environment/make-pack.ts';
import { PackInspector } from './pack-splitter.ts';

async function inspect(tar: Buffer): Promise<string[]> {
  const inspector = new PackInspector('env.tar');
  await inspector.write(tar);
  return inspector.finish().packages.map(({ url }) => url);
}

test('the packages of a pixi-pack archive are listed', async () => {
  assert.deepEqual(await inspect(makePack()), ['tiny-1.0-0.conda']);
});

for (const [what, entry, words] of [
  [
    'a link in place of its channel',
    { name: 'channel', type: '2', link: '/tmp' },
    /contains the link "channel", and pixi-pack writes none/,
  ],
  [
    'a hard link in place of a package',
    { name: 'channel/linux-64/x.conda', type: '1', link: 'environment.yml' },
    /contains the link "channel\/linux-64\/x\.conda"/,
  ],
  [
    'a package twice',
    { name: 'channel/linux-64/tiny-1.0-0.conda', data: 'another' },
    /contains "channel\/linux-64\/tiny-1\.0-0\.conda" twice/,
  ],
  ['a path that leads outside', { name: '../../.bashrc', data: 'x' }, /\.bashrc/],
  ['an absolute path', { name: '/etc/passwd', data: 'x' }, /etc\/passwd/],
] as const)
  test(`an archive with ${what} is refused before it is unpacked`, async () => {
    await assert.rejects(inspect(Buffer.concat([tarEntry(entry), makePack()])), words);
  });
