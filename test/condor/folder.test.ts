import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ObjectHarness } from '../objects/object-harness.ts';
import { condorHarness, onlyJob, result } from './condor-harness.ts';

/** Class folders, with names as people have them. */
const files: Record<string, string> = {
  'dog/ümläut, ;.jpg': 'odd',
  'dog/line\nbreak.jpg': 'odder',
  'cat/empty': '',
};
for (const folder of ['cat', 'dog'])
  for (const name of ['1', '2', '3']) files[`${folder}/${name}.jpg`] = `${folder}${name}`.repeat(100_000);

const hashes = (folder: string): string =>
  `cd ${folder} && find . -type f -print0 | sort -z | xargs -0 sha256sum -z | tr '\\\\0\\\\n' '\\\\n\\\\n'`;

test('a folder and a staged data set of many shards reach a job of the pool as they are', async (t) => {
  const objects = await ObjectHarness.open(t);
  const harness = await condorHarness(t, { 'updraft.toml': '' }, { env: { ...objects.env, TMPDIR: '/tmp' } });
  if (harness === undefined) return;
  for (const root of [objects.at('set'), path.join(harness.folder, 'my images')])
    for (const [name, content] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(root, name)), { recursive: true });
      await writeFile(path.join(root, name), content);
    }
  const env = await objects.tokenEnv({ namespace: '/inbox' });
  const staged = await objects.updraft(['stage', 'set', 'osdf:///inbox/sets', '--shard-size', '1MB'], {
    env,
  });
  assert.equal(staged.exit, 0, staged.err);
  await writeFile(path.join(harness.folder, 'token'), await readFile(env['BEARER_TOKEN_FILE'] ?? '', 'utf8'));
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    `
name = "folder"
[train]
command = """
(${hashes('folder')}) > folder.txt
(${hashes('shards')}) > shards.txt
"""
outputs = ["folder.txt", "shards.txt"]
[data.folder]
url = "my images"
into = "folder"
${staged.out.replace('into = "data"', 'into = "shards"')}token_file = "token"
[resources]
disk = "1 GB"
[run]
pool = "condor"
`,
  );
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'success', JSON.stringify(job.attempts.at(-1)?.fault ?? job.held));
  const folder = await result(run, 'folder.txt');
  assert.equal(folder.match(/^[0-9a-f]{64} /gm)?.length, Object.keys(files).length);
  assert.equal(await result(run, 'shards.txt'), folder, 'both have the same files');
  const { createHash } = await import('node:crypto');
  for (const content of Object.values(files))
    assert.ok(folder.includes(createHash('sha256').update(content).digest('hex')));
  const fetches = job.attempts[0]?.agent?.fetches ?? [];
  assert.deepEqual(fetches.map(({ verified }) => verified).sort(), ['digest', 'manifest']);
});
