/** Which files of a job can be downloaded: links, special files and odd names cannot. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { downloadHeaders, listResults, openResult } from './result-files.ts';

/** A run with results, and secrets beside them. */
async function run(t: TestContext): Promise<string> {
  const parent = await temporaryFolder(t, {
    'secret.txt': 'secret',
    'run/plan.json': 'secret',
    'run/results/0000/model.pt': 'weights',
    'run/results/0000/logs/a b.csv': 'x',
    'run/results/0000/.updraft.json': '{}',
    'run/results/0001/model.pt': 'of another job',
  });
  const results = path.join(parent, 'run/results');
  await symlink('/etc/passwd', path.join(results, '0000/passwd'));
  await symlink('../..', path.join(results, '0000/up'));
  await symlink('../0001', path.join(results, '0002'));
  execFileSync('mkfifo', [path.join(results, '0000/pipe')]);
  return path.join(parent, 'run');
}

const textOf = async (folder: string, job: string, name: string): Promise<string | undefined> => {
  const found = await openResult(folder, job, name);
  if (found === undefined) return undefined;
  const text = await found.handle.readFile('utf8');
  await found.handle.close();
  return text;
};

test('plain files of a job are listed and served, the largest first', async (t) => {
  const folder = await run(t);
  assert.deepEqual(await listResults(folder, '0000'), [
    { name: 'model.pt', bytes: 7 },
    { name: 'logs/a b.csv', bytes: 1 },
  ]);
  assert.equal(await textOf(folder, '0000', 'model.pt'), 'weights');
  assert.equal(await textOf(folder, '0000', 'logs/a b.csv'), 'x');
  assert.deepEqual(await listResults(folder, '0009'), []);
});

test('nothing outside the folder of the job is served', async (t) => {
  const folder = await run(t);
  for (const name of [
    '',
    '.',
    '..',
    '../0001/model.pt',
    '../../plan.json',
    '../../../secret.txt',
    'logs/../../0001/model.pt',
    '/etc/passwd',
    'passwd',
    'up/plan.json',
    'up/results/0000/model.pt',
    'logs',
    'pipe',
    'model.pt\0.txt',
    '..%2f0001%2fmodel.pt',
    String.raw`..\0001\model.pt`,
  ])
    assert.equal(await textOf(folder, '0000', name), undefined, JSON.stringify(name));
  for (const job of ['', '.', '..', '0002', '../results/0001', '0000/..', '/etc'])
    for (const name of ['model.pt', 'passwd', '0001/model.pt', 'plan.json'])
      assert.equal(await textOf(folder, job, name), undefined, `${job} ${name}`);
});

test('the folder of all results may be a link to a larger disk', async (t) => {
  const folder = await run(t);
  const other = path.join(path.dirname(folder), 'other');
  await mkdir(other);
  await symlink(path.join(folder, 'results'), path.join(other, 'results'));
  assert.equal(await textOf(other, '0000', 'model.pt'), 'weights');
});

test('a download is saved under a name that cannot break its header, and is never a page of ours', () => {
  const of = (name: string) => downloadHeaders('run-1', '0000', name);
  assert.deepEqual(of('model.pt'), {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="run-1-0000-model.pt"; filename*=UTF-8''run-1-0000-model.pt`,
  });
  assert.equal(of('a.JSON')['Content-Type'], 'application/json');
  for (const name of ['x.html', 'x.svg', 'x.js', 'x'])
    assert.match(of(name)['Content-Type'] ?? '', /octet-stream/);
  const hostile = of('a/b"\r\nSet-Cookie: x;é\'().html')['Content-Disposition'] ?? '';
  assert.doesNotMatch(hostile, /[\r\n]|"[^"]*"[^"]*"/);
  assert.match(
    hostile,
    /filename\*=UTF-8''run-1-0000-a-b%22%0D%0ASet-Cookie%3A%20x%3B%C3%A9%27%28%29\.html$/,
  );
});
