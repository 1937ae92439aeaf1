import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tarEntry } from '../../test/archives/make-tar.ts';
import { makePack } from '../../test/environment/make-pack.ts';
import { PackInspector } from './pack-inspector.ts';

async function inspect(tar: Buffer): Promise<string[]> {
  const inspector = new PackInspector('env.tar');
  await inspector.write(tar);
  return inspector.finish().packages.map(({ url }) => url);
}

test('an archive of pixi-pack tells its packages', async () => {
  assert.deepEqual(await inspect(makePack()), ['tiny-1.0-0.conda']);
});

for (const [what, entry, words] of [
  [
    'a link in the place of its channel',
    { name: 'channel', type: '2', link: '/tmp' },
    /holds the link "channel", and pixi-pack writes none/,
  ],
  [
    'a hard link to what it is not',
    { name: 'channel/linux-64/x.conda', type: '1', link: 'environment.yml' },
    /holds the link "channel\/linux-64\/x\.conda"/,
  ],
  [
    'a package twice',
    { name: 'channel/linux-64/tiny-1.0-0.conda', data: 'another' },
    /holds "channel\/linux-64\/tiny-1\.0-0\.conda" twice/,
  ],
  ['a path that leads outside', { name: '../../.bashrc', data: 'x' }, /\.bashrc/],
  ['an absolute path', { name: '/etc/passwd', data: 'x' }, /etc\/passwd/],
] as const)
  test(`an archive with ${what} is refused before anything of it runs`, async () => {
    await assert.rejects(inspect(Buffer.concat([tarEntry(entry), makePack()])), words);
  });
