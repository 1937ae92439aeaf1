import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Finding } from '@updraft/base';
import { tar } from '../archives/make-tar.ts';
import { testAuthority, webServer } from '../federation/web-server.ts';
import { ObjectHarness } from '../objects/object-harness.ts';

interface Answer {
  ok: boolean;
  findings: Finding[];
  looked: { what: string; said: string }[];
  unchecked: { what: string; why: string }[];
}

const head = 'name = "x"\n[train]\ncommand = "cat data/* > out"\noutputs = ["out"]\n';

async function jobFile(harness: ObjectHarness, data: string): Promise<void> {
  await mkdir(harness.at('job'), { recursive: true });
  await writeFile(harness.at('job/updraft.toml'), head + data);
}

async function check(harness: ObjectHarness, data: string, env = {}): Promise<Answer & { exit: number }> {
  await jobFile(harness, data);
  const { exit, out } = await harness.updraft(['check', 'job', '--quick', '--json'], { env });
  return { ...(JSON.parse(out.split('\n')[0] ?? '') as Answer), exit };
}

const rules = ({ findings }: Answer): string[] => findings.map(({ level, rule }) => `${level} ${rule}`);
const demo = (name = 'x.tar') => `[data.d]\nurl = "osdf:///demo/${name}"\nunpack = "none"\n`;
const proven = demo() + 'expect = { bytes = 9 }\n';

test('an object that is the same on caches and origin is listed with its size, without findings', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x.tar', '123456789');
  const answer = await check(harness, proven);
  assert.deepEqual([answer.exit, answer.ok, rules(answer)], [0, true, []]);
  assert.deepEqual(answer.looked, [
    { what: 'data.d', said: '9 B at the origin; none of 2 caches has it' },
    { what: 'this machine', said: '1 command found' },
  ]);
  await harness.updraft(['cat', 'osdf:///demo/x.tar']);
  const [warm] = (await check(harness, proven)).looked;
  assert.match(warm?.said ?? '', /^9 B at the origin; 1 of 2 caches has it \(127\.0\.0\.1:\d+\)$/);
});

test('the caches that a job file prefers or avoids are named', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x.tar', '123456789');
  const { out } = await harness.updraft(['stat', '--json', 'osdf:///demo/x.tar']);
  const [first, second] = (JSON.parse(out) as { servers: { server: string }[] }).servers;
  const wishes = `caches = ["${second!.server}"]\n[run]\navoid_caches = ["${first!.server}"]\n`;
  const { looked } = await check(harness, proven + wishes);
  const said = `${second!.server} preferred by the job file; ${first!.server} avoided by the job file`;
  assert.equal(looked[0]?.said, `9 B at the origin; none of 1 cache has it; ${said}`);
});

test('checking transfers no data, however many jobs there are', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x.tar', 11_000_000);
  const { exit, looked } = await check(harness, `${demo()}expect = { bytes = 11000000 }\n[run]\njobs = 20\n`);
  assert.deepEqual([exit, looked[0]?.said], [0, '11 MB at the origin; none of 2 caches has it']);
  for (const server of ['origin', 'cache-1', 'cache-2'])
    assert.equal(harness.federation.counters.server(server).bytes, 0, server);
});

test('a wrong path is an error with exit code 3, before anything is queued', async (t) => {
  const harness = await ObjectHarness.open(t);
  const answer = await check(harness, demo('y.tar'));
  assert.deepEqual([answer.exit, answer.ok, rules(answer)], [3, false, ['error object-missing']]);
  assert.deepEqual([answer.findings[0]?.file, answer.findings[0]?.line], ['job/updraft.toml', 6]);
  const submitted = await harness.updraft(['submit', 'job']);
  assert.equal(submitted.exit, 3);
  assert.match(submitted.err, /object-missing[\s\S]*1 error; nothing was queued\n {2}fix: .*--no-check/);
  await harness.trouble('director: 404 on *y.tar');
  const [unknown] = (await check(harness, demo('y.tar'))).findings;
  assert.match(unknown?.message ?? '', /is not there \(the federation 404\)$/);
});

test('a cache that answers 404 or a wrong size is a warning that names it', async (t) => {
  for (const [trouble, said] of [
    ['cache-2: 404', /but cache 127\.0\.0\.1:\d+ answers 404$/],
    ['cache-1: wrong-size by 3', /but cache 127\.0\.0\.1:\d+ has (6|12) bytes$/],
  ] as const) {
    const harness = await ObjectHarness.open(t);
    await harness.publish('demo/x.tar', '123456789');
    await harness.updraft(['cat', 'osdf:///demo/x.tar']);
    await harness.trouble(trouble);
    const answer = await check(harness, proven);
    assert.deepEqual([answer.exit, rules(answer)], [0, ['warning servers-differ']], trouble);
    assert.match(answer.findings[0]?.message ?? '', said);
  }
});

test('an archive that cannot be unpacked is an error, found by its first bytes', async (t) => {
  const harness = await ObjectHarness.open(t);
  const pipe = tar(
    { name: 'a', data: 'a' },
    { name: 'p', type: '6' },
    { name: 'big', data: 'x'.repeat(1 << 20) },
  );
  await harness.publish('demo/x.tar', pipe);
  const auto = `[data.d]\nurl = "osdf:///demo/x.tar"\nexpect = { bytes = ${pipe.length} }\n`;
  const served = await check(harness, auto);
  assert.deepEqual([served.exit, rules(served)], [3, ['error object-unusable']]);
  assert.match(served.findings[0]?.message ?? '', /data\.d: x\.tar: the entry "p" is a named pipe/);
  await writeFile(harness.at('y.tar.gz'), gzipSync(pipe));
  const local = await check(harness, `[data.d]\nurl = "file://${harness.at('y.tar.gz')}"\n`);
  assert.ok(rules(local).includes('error object-unusable'), rules(local).join());
  const xz = harness.at('z.tar.xz');
  await writeFile(xz, Buffer.from('fd377a585a000004e6d6b446', 'hex'));
  const packed = (await check(harness, `[data.d]\nurl = "file://${xz}"\n`)).findings[0];
  assert.deepEqual(
    [packed?.rule, packed?.message, packed?.fix],
    [
      'object-unusable',
      'data.d: z.tar.xz: is compressed by xz, which Updraft does not unpack',
      'repack it: xz -dc z.tar.xz | zstd -T0 > z.tar.zst',
    ],
  );
  const good = tar({ name: 'a', data: 'x'.repeat(1 << 20) });
  await harness.publish('demo/good.tar', good);
  const whole = await check(
    harness,
    auto.replace('x.tar', 'good.tar').replace(`${pipe.length}`, `${good.length}`),
  );
  assert.deepEqual([whole.exit, rules(whole)], [0, []]);
});

test('if all servers are down, the object is listed as not checked, and jobs are not blocked', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x.tar', '123456789');
  await harness.trouble('all: down');
  const answer = await check(harness, proven);
  assert.deepEqual([answer.exit, answer.ok, rules(answer)], [0, true, []]);
  assert.deepEqual(
    answer.unchecked.map(({ what }) => what),
    ['data.d'],
  );
});

test('an object that was replaced since it was declared is an error with both sizes', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x.tar', 'another content');
  const answer = await check(harness, proven);
  assert.deepEqual(rules(answer), ['error object-not-as-declared']);
  assert.match(answer.findings[0]?.message ?? '', /has 15 bytes .* says 9 /);
});

test('a manifest is read and trusted; a missing one is an error', async (t) => {
  const harness = await ObjectHarness.open(t);
  const content = '123456789';
  await harness.publish('demo/x.tar', content);
  const manifest = { bytes: 9, chunkBytes: 4096, sha256: sha256(content), chunks: [sha256(content)] };
  await harness.publish('demo/x.json', JSON.stringify(manifest));
  const withManifest = (name: string) => demo() + `manifest = "osdf:///demo/${name}"\n`;
  assert.deepEqual(rules(await check(harness, withManifest('x.json'))), []);
  assert.deepEqual(rules(await check(harness, withManifest('none.json'))), ['error object-unusable']);
});

test('tokens: none, one that expires too soon, a good one', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('private/x.tar', '123456789');
  const data = '[data.d]\nurl = "osdf:///private/x.tar"\nunpack = "none"\nexpect = { bytes = 9 }\n';
  assert.deepEqual(rules(await check(harness, data)), ['error token-missing']);
  const short = await harness.tokenEnv({ namespace: '/private', expiresInSeconds: 3600 });
  assert.deepEqual(rules(await check(harness, data, short)), ['warning token-short']);
  const long = await harness.tokenEnv({ namespace: '/private', expiresInSeconds: 10 * 86_400 });
  const answer = await check(harness, data, long);
  assert.deepEqual(rules(answer), []);
  const token = harness.federation.issueToken({ namespace: '/private' }).slice(0, 20);
  assert.doesNotMatch(JSON.stringify(answer), new RegExp(token));
});

test('a token in the environment is not enough for a job that will not have it', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('private/x.tar', '123456789');
  const data = '[data.d]\nurl = "osdf:///private/x.tar"\nunpack = "none"\nmethod = "osdf"\n';
  const env = await harness.tokenEnv({ namespace: '/private', expiresInSeconds: 10 * 86_400 });
  const condor = '[run]\npool = "condor"\n';
  const { findings } = await check(harness, data + condor, env);
  const missing = findings.find(({ rule }) => rule === 'token-missing');
  assert.match(`${missing?.message}; ${missing?.fix}`, /is not sent with the job; name .*`token_file`/);
  const named = `${data}token_file = ${JSON.stringify(Object.values(env)[0])}\n`;
  assert.ok(!rules(await check(harness, named + condor)).includes('error token-missing'));
});

test('a plain server that asks for a token is named, with the key to set', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = { SSL_CERT_FILE: testAuthority };
  for (const [status, words] of [
    [401, /answers 401: it needs a token; .*`token_file`/],
    [403, /answers 403: it refuses access without a token; .*`token_file`/],
  ] as const) {
    const { url } = await webServer(t, (_, response) => void response.writeHead(status).end());
    const { findings } = await check(harness, `[data.d]\nurl = "${url}/x.bin"\nunpack = "none"\n`, env);
    const missing = findings.find(({ rule }) => rule === 'token-missing');
    assert.match(`${missing?.message}; ${missing?.fix}`, words);
  }
});

test('the size from the servers counts for the disk if the job file states none', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x.tar', 2_000_000);
  const answer = await check(harness, `${demo()}[resources]\ndisk = "1 MB"\n`);
  assert.deepEqual(rules(answer), ['error disk-too-small', 'note unproven']);
});

test('a folder instead of an object is an error', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/set/x', '1');
  assert.ok(rules(await check(harness, demo('set'))).includes('error object-unusable'));
});

test('a token in a URL is never printed', async (t) => {
  const harness = await ObjectHarness.open(t);
  await jobFile(harness, demo('none.tar?authz=Bearer%20SECRET'));
  for (const json of [['--json'], []]) {
    const { exit, out, err } = await harness.updraft(['check', 'job', '--quick', ...json]);
    assert.equal(exit, 3);
    assert.doesNotMatch(out + err, /SECRET/);
  }
});

test('the report for people has places, fixes and what was checked', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x.tar', '123456789');
  await jobFile(harness, demo());
  const { exit, out, err } = await harness.updraft(['check', 'job', '--quick']);
  assert.equal(exit, 0);
  assert.match(
    out,
    /^x: 1 job on the pool "local"; 1 note\n\nworth knowing\n {2}job\/updraft\.toml:6 {2}unproven\n/,
  );
  assert.match(out, /\nchecked\n {2}data\.d {8}9 B at the origin; none of 2 caches has it\n/);
  assert.match(err, /next:\n {2}updraft plan job/);
});

test('a submit file is checked with its URLs, its script and its Python files', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x.tar', 'x'.repeat(9000));
  const files = {
    'job.sub': `executable = run.sh
arguments = train.py
transfer_input_files = train.py, osdf:///demo/x.tar, osdf:///demo/none.tar
transfer_output_files = model.pt
request_memory = 1GB
request_disk = 4KB
log = log
queue
`,
    'run.sh': '#!/bin/bash\nset -e\npython3 "$@"\n',
    'train.py': 'resnet50(pretrained=True)\n',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(harness.cwd, name), text);
  const { exit, out } = await harness.updraft(['check', 'job.sub', '--json']);
  const answer = JSON.parse(out.split('\n')[0] ?? '') as Answer;
  const shown = answer.findings.map(({ rule, file, line }) => `${rule} ${file ?? ''}:${line ?? 0}`);
  assert.equal(exit, 3);
  assert.ok(shown.includes('object-missing job.sub:3'), shown.join());
  assert.ok(shown.includes('disk-below-input job.sub:6'), shown.join());
  assert.ok(shown.includes('run-time-download train.py:1'), shown.join());
  assert.ok(
    shown.some((one) => one.startsWith('worth-adding ')),
    shown.join(),
  );
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
