import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { multistatus } from '@updraft/mini/testing';
import { testFederation } from '../federation/origin-server.ts';
import { adOf, callPlugin, textAt } from '../plugin/call-plugin.ts';
import { hostileFederation } from './hostile-host.ts';
import { ended, ObjectHarness, updraftIn } from './object-harness.ts';

/** What somebody outside has tried, and must not achieve: each test is one attack, by the program that ships. */

const job = (command: string, files: string[] = [], more = ''): string =>
  `name = "attacked"\n[train]\ncommand = ${JSON.stringify(command)}\nfiles = ${JSON.stringify(files)}\n` +
  `outputs = ["out"]\n${more}[run]\npool = "local"\n[resources]\ncpus = 1\nmemory = "2 GB"\n`;

/** A run that has ended. Its job fails: of one that succeeds, `runs` writes no summary. */
async function endedRun(harness: ObjectHarness): Promise<string> {
  await writeFile(harness.at('updraft.toml'), job('exit 3'));
  const run = await ended(harness.spawn(['run']));
  assert.equal(run.exit, 1, run.err);
  const [name = ''] = (await readdir(harness.at('runs'))).filter((one) => !one.startsWith('.'));
  return path.join('runs', name);
}

test('outside delete: no command removes or overwrites what a link in its folder leads to', async (t) => {
  const harness = await ObjectHarness.open(t);
  const precious = Array.from({ length: 40 }, (_, index) => `file-${index}`).sort();
  await mkdir(harness.at('outside'));
  for (const name of precious) await writeFile(path.join(harness.at('outside'), name), name);
  await harness.publish('demo/all/link/other', 'other');
  await mkdir(harness.at('side'));
  await symlink('../outside', harness.at('side/link'));
  const run = await endedRun(harness);
  // Left by a removal that was interrupted, it would seem.
  for (const place of [`${run}/files/link`, `${run}/jobs/link`, 'runs/.gone.draft'])
    await symlink(harness.at('outside'), harness.at(place));
  await symlink(harness.at('outside'), harness.at('runs/another'));
  // Where the commands below write.
  await symlink(harness.at('outside/file-0'), harness.at(`${run}/summary.json.draft`));
  for (const words of [
    ['sync', '--delete', '--yes', 'osdf:///demo/all', 'side'],
    ['get', '-r', '--overwrite', 'osdf:///demo/all', 'side'],
    ['runs'],
    ['runs', 'rm', 'another', '--yes'],
    ['runs', 'rm', path.basename(run), '--yes'],
  ])
    await harness.updraft(words);
  assert.ok(!existsSync(harness.at(run)), 'the run itself is removed');
  assert.deepEqual((await readdir(harness.at('outside'))).sort(), precious);
  for (const name of precious)
    assert.equal(await readFile(path.join(harness.at('outside'), name), 'utf8'), name);
});

test('outside write: no command writes through a link where it keeps its own files', async (t) => {
  const harness = await ObjectHarness.open(t);
  const outside = harness.at('outside');
  const run = await endedRun(harness);
  const journal = await readFile(harness.at(`${run}/journal.jsonl`), 'utf8');
  await rm(harness.at(`${run}/journal.jsonl`));
  await writeFile(outside, journal);
  await symlink(outside, harness.at(`${run}/journal.jsonl`));
  const said = await ended(harness.spawn(['retry', path.basename(run), '--yes']));
  assert.notEqual(said.exit, 0, said.out);
  assert.match(said.err, /cannot write to .*journal\.jsonl: /);
  assert.equal(await readFile(outside, 'utf8'), journal);
  await rm(harness.at('updraft.toml'));
  await symlink('nowhere', harness.at('updraft.toml'));
  assert.equal((await harness.updraft(['init', '--template', 'minimal'])).exit, 3);
  const { exit, err } = await harness.updraft(['init', '--force', '--template', 'minimal']);
  assert.equal(exit, 0, err);
  assert.ok(!existsSync(harness.at('nowhere')) && (await lstat(harness.at('updraft.toml'))).isFile());
});

test('outside write: a link that appears during a download is not written through', async (t) => {
  const harness = await ObjectHarness.open(t);
  await mkdir(harness.at('outside'));
  for (const name of ['a', 'z/b']) await harness.publish(`demo/all/${name}`, name);
  // The first object is here.
  const out = (): void => {
    if (!existsSync(harness.at('side/z'))) symlinkSync(harness.at('outside'), harness.at('side/z'));
  };
  const words = ['get', '-r', '--parallel', '1', 'osdf:///demo/all', 'side'];
  const { exit, err } = await harness.updraft(words, { out });
  assert.equal(exit, 2, err);
  assert.match(err, /side\/z is a link to .*\/outside: nothing is written through it/);
  assert.deepEqual(await readdir(harness.at('outside')), []);
  assert.equal(await readFile(harness.at('side/a'), 'utf8'), 'a');
});

const namespace = ['--user', '--map-root-user', '--mount'];
const canMount = spawnSync('unshare', [...namespace, 'true']).status === 0;

test(
  'outside mount: `runs rm` removes a run and nothing that is mounted in it, and says so',
  { skip: canMount ? false : 'no user namespaces to mount in' },
  async (t) => {
    const harness = await ObjectHarness.open(t);
    const run = await endedRun(harness);
    await mkdir(harness.at('outside'));
    await mkdir(harness.at(`${run}/jobs/mounted`));
    await writeFile(harness.at('outside/file'), 'kept');
    const [program = '', ...words] = harness.spawnArguments(['runs', 'rm', path.basename(run), '--yes']);
    const script = `mount --bind outside ${run}/jobs/mounted && exec "$0" "$@"`;
    const said = spawnSync('unshare', [...namespace, 'sh', '-c', script, program, ...words], {
      ...harness.spawnOptions(),
      encoding: 'utf8',
    });
    assert.equal(said.status, 3, said.stderr);
    assert.match(said.stderr, /not removed completely: something is mounted at .*jobs\/mounted/);
    assert.equal(await readFile(harness.at('outside/file'), 'utf8'), 'kept');
    await ended(harness.spawn(['run']));
    assert.deepEqual(
      (await readdir(harness.at('runs'))).filter((name) => name.endsWith('.draft')),
      [],
      'once it is unmounted, the next run removes the rest',
    );
  },
);

test('outside upload: a folder is sent with links to its own files, and with nothing that is outside of it', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await mkdir(harness.at('side/deep'), { recursive: true });
  await mkdir(harness.at('outside'));
  await writeFile(harness.at('side/deep/a'), 'mine');
  await writeFile(harness.at('outside/o'), 'not mine');
  await symlink('deep/a', harness.at('side/own'));
  await symlink('../outside', harness.at('side/folder'));
  await symlink('../outside/o', harness.at('side/file'));
  await symlink('nowhere', harness.at('side/dangling'));
  await symlink('..', harness.at('side/deep/up'));
  // The name that the user writes may be a link.
  await symlink('side', harness.at('top'));
  const said = await harness.updraft(['put', '-r', 'top', 'osdf:///inbox/top'], { env });
  assert.equal(said.exit, 3, said.err);
  assert.match(said.err, /top\/folder FAILED: .*top\/folder is a link to .*\/outside, outside /);
  assert.match(said.err, /top\/file FAILED: .*is a link to .*\/outside\/o, outside /);
  assert.match(said.err, /top\/dangling FAILED: .*top\/dangling leads nowhere\n/);
  assert.match(said.err, /top\/deep\/up FAILED: .*, (?:not a file|outside )/);
  assert.match(said.err, /2 of 6 done; not done:/);
  assert.deepEqual((await readdir(harness.published('inbox/top'))).sort(), ['deep', 'own']);
  assert.deepEqual(await readdir(harness.published('inbox/top/deep')), ['a']);
  assert.equal(await readFile(harness.published('inbox/top/own'), 'utf8'), 'mine');
  for (const name of ['folder', 'deep/up']) await rm(harness.at(`side/${name}`));
  for (const how of [[], ['--no-shard'], ['--shuffle']]) {
    const staged = await harness.updraft(['stage', 'side', 'osdf:///inbox/staged', ...how], { env });
    assert.equal(staged.exit, 3, staged.err);
    assert.match(
      staged.err,
      /side\/(?:file|dangling) (?:is a link to .*, outside the folder|cannot be read)/,
    );
    await rm(harness.at('side/dangling'), { force: true });
  }
  assert.ok(!existsSync(harness.published('inbox/staged')));
});

test('outside bundle: nothing is packed that a link in the folder of a run leads to', async (t) => {
  const harness = await ObjectHarness.open(t);
  await mkdir(harness.at('foreign'));
  await writeFile(harness.at('foreign/other.log'), 'foreign');
  const run = await endedRun(harness);
  for (const [name, to] of [
    ['linked', '../../foreign'],
    ['jobs/0000/other.log', '../../../../foreign/other.log'],
    ['jobs/up', '..'],
  ] as const)
    await symlink(to, path.join(harness.at(run), name));
  const said = await harness.updraft(['bundle', path.basename(run), '--no-doctor', '-o', 'b.tar.gz']);
  assert.equal(said.exit, 0, said.err);
  const names = execFileSync('tar', ['-tzf', harness.at('b.tar.gz')], { encoding: 'utf8' });
  assert.match(names, /attempt-1\/agent\.jsonl/);
  assert.doesNotMatch(names, /linked|other\.log|jobs\/up/);
});

const listed = (objectPath: string, isFolder = false) => ({
  objectPath,
  isFolder,
  size: 3,
  modified: new Date(0),
  etag: '"e"',
});
const names = Array.from({ length: 10 }, (_, index) => `/ns/d/${index}`);

/** An origin that cuts each listing of this folder in half, the answer being complete as HTTP sees it. */
async function cutting(t: Parameters<typeof testFederation>[0], cut: string) {
  return await testFederation(
    t,
    [
      ({ method, url, headers }, answer) => {
        if (method === 'GET' || method === 'HEAD') return answer.writeHead(200).end('abc');
        if (method !== 'PROPFIND') return answer.writeHead(204).end();
        const folder = url.replace(/\/$/, '');
        const inside =
          folder === '/ns/d' ? [...names.map((name) => listed(name)), listed('/ns/d/sub', true)] : [];
        const depth = headers['depth'] === '1' ? inside : [];
        const body = multistatus([listed(folder, true), ...depth]);
        return answer.writeHead(207).end(folder === cut ? body.slice(0, body.length / 2) : body);
      },
    ],
    { listing: true, origin: true },
  );
}

for (const [where, cut] of [
  ['the folder itself', '/ns/d'],
  ['a folder in it', '/ns/d/sub'],
] as const)
  test(`cut listing: nothing is listed, fetched or deleted when that of ${where} is cut`, async (t) => {
    const { env, folder, asked } = await cutting(t, cut);
    const url = 'osdf:///ns/d';
    const commands = [
      ...(cut === '/ns/d' ? [['ls', url]] : []),
      ['ls', '--recursive', url],
      ['get', '--recursive', url, 'here'],
      ['rm', '--recursive', '--yes', url],
    ];
    const running = commands.map(async (words) => {
      const { exit, out, err } = await updraftIn({ cwd: folder, env }, words);
      assert.notEqual(exit, 0, words.join(' '));
      const isUnclear = words[0] === 'rm' && cut === '/ns/d';
      assert.match(err, isUnclear ? /not say whether/ : /not answer with a whole listing/);
      assert.ok(err.includes(`osdf://${cut}`), err);
      assert.equal(out, '', words.join(' '));
    });
    await Promise.all(running);
    const file = path.join(folder, 'by-plugin');
    const requests = [{ url: `${url}?recursive`, file }];
    const there = { discoveryHost: env['UPDRAFT_OSDF_HOST'] ?? '', caFile: env['SSL_CERT_FILE'] ?? '' };
    const { exit, ads } = await callPlugin({ folder, federation: there, requests });
    assert.notEqual(exit, 0);
    assert.match(textAt(adOf(ads, `${url}?recursive`), 'TransferError'), /whole listing/);
    assert.ok(!existsSync(file) && !existsSync(path.join(folder, 'here')));
    const methods = new Set(asked[0]?.map(({ method }) => method));
    assert.deepEqual([...methods], ['PROPFIND']);
  });

test('login token: a federation that names the issuer of another gets none of its tokens', async (t) => {
  const harness = await ObjectHarness.open(t);
  const flow = harness.federation.logins('/private');
  flow.settings.intervalSeconds = 0.01;
  const { url, env, stolen } = await hostileFederation(t, harness);
  await writeFile(harness.at('file'), 'x');
  /** The user approves whatever the issuer, which is the real one, shows. */
  const updraft = async (words: string[]) => {
    const child = harness.spawn(words, env);
    child.stderr?.on('data', (text: Buffer) => {
      const code = /code {3}(\S+)/.exec(text.toString())?.[1];
      if (code !== undefined) harness.federation.decideLogin(code, 'approved');
    });
    return await ended(child);
  };
  const lured = await updraft(['login', url]);
  assert.deepEqual([lured.exit, flow.seen], [2, []], lured.err);
  assert.match(lured.err, /which you have not confirmed/);
  const meant = await updraft(['login', 'osdf:///private/x']);
  assert.equal(meant.exit, 0, meant.err);
  for (const words of [
    ['get', url, 'a'],
    ['cat', url],
    ['ls', url],
    ['put', 'file', url],
    ['rm', url, '--yes'],
  ]) {
    const { exit, err } = await updraft(words);
    assert.notEqual(exit, 0, words[0]);
    assert.match(err, /token/, words[0]);
  }
  assert.deepEqual(stolen(), []);
});

const python = '/usr/bin/python3';
const hasTorch = existsSync('/usr/lib/python3/dist-packages/torch');

test(
  'planted checkpoint: a training that resumes from it runs nothing that is in it',
  { skip: hasTorch ? false : `no PyTorch for ${python}` },
  async (t) => {
    const harness = await ObjectHarness.open(t);
    const ran = harness.at('ran');
    const planted = Buffer.from(`cposix\nsystem\n(S'touch ${ran}'\ntR.`);
    const name = `checkpoint-000000000001-${crc32(planted).toString(16).padStart(8, '0')}.pt`;
    await writeFile(harness.at(name), planted);
    const training = [
      'import os, sys',
      'if not os.listdir("saved"):',
      `    os.rename("${name}", "saved/${name}")`,
      '    sys.exit(85)',
      'import torch, updraft',
      'with updraft.training(torch.nn.Linear(1, 1)):',
      '    open("out", "w").write("resumed")',
    ];
    await writeFile(harness.at('train.py'), training.join('\n'));
    const more = 'checkpoint = "saved"\n';
    await writeFile(harness.at('updraft.toml'), job(`${python} train.py`, ['train.py', name], more));
    const run = await ended(harness.spawn(['run']));
    assert.match(
      run.out + run.err,
      /the checkpoint names posix\.system, which is neither a tensor nor a plain value/,
    );
    assert.ok(!existsSync(ran));
  },
);
