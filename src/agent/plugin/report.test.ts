import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { type Ad, type AdValue, attributeOf, parseAds } from '@updraft/htcondor/classad';
import { Fault } from '@updraft/account/fault';
import type { TransferInfo, RequestOutcome } from './plugin-args.ts';
import { OutFile, writeReport } from './report.ts';

const context = { direction: 'download', version: '1.2.3', worker: { host: 'h', site: 'S' } } as const;
const outcome = (url: string, result: RequestOutcome['result']): RequestOutcome => ({
  request: { url, file: `/s/${path.basename(url)}` },
  result,
  startedAt: 1000,
  endedAt: 3500,
  endpoints: [],
});
const good = outcome('osdf:///d/good', { bytes: 7, verified: 'digest', servers: [] });
const stalled = outcome('osdf:///d/stalled', new Fault('transfer-stalled', 'no byte\ncame'));
const missing = outcome('osdf:///d/missing', new Fault('object-missing', 'is not there', { fix: 'look' }));

async function report(t: Parameters<typeof temporaryFolder>[0], outcomes: RequestOutcome[], before?: string) {
  const file = path.join(await temporaryFolder(t), 'out');
  if (before !== undefined) writeFileSync(file, before);
  const out = new OutFile(file);
  writeReport(out, outcomes, context);
  out.close();
  return { file, ads: parseAds(readFileSync(file, 'utf8')) };
}

const at = (ad: Ad | undefined, ...names: string[]): AdValue =>
  names.reduce<AdValue>((value, name) => {
    const one = Array.isArray(value) ? value[0] : value;
    return attributeOf(one as Ad, name);
  }, ad);

test('failures that no retry can fix come first, successes last', async (t) => {
  const { ads } = await report(t, [good, stalled, missing]);
  assert.deepEqual(
    ads.map((ad) => at(ad, 'TransferUrl')),
    ['osdf:///d/missing', 'osdf:///d/stalled', 'osdf:///d/good'],
  );
});

test('a failure says why, where, what to do and whether to try again, with the error codes of Pelican', async (t) => {
  const { ads } = await report(t, [missing, stalled]);
  assert.equal(at(ads[0], 'TransferError'), 'is not there; fix: look (updraft 1.2.3, site S, host h)');
  assert.equal(at(ads[0], 'TransferRetryable'), false);
  assert.equal(at(ads[0], 'TransferErrorData', 'DeveloperData', 'PelicanErrorCode'), 5011);
  assert.equal(at(ads[0], 'TransferErrorData', 'Retryable'), 0);
  assert.match(at(ads[1], 'TransferError') as string, /^no byte came /);
  assert.equal(at(ads[1], 'TransferErrorData', 'ErrorType'), 'Transfer');
  assert.equal(at(ads[1], 'TransferErrorData', 'DeveloperData', 'ErrorType'), 'Transfer.StoppedTransfer');
});

test('a success says how much, when and how it was verified', async (t) => {
  const [ad] = (await report(t, [good])).ads;
  const reported = [
    'TransferSuccess',
    'TransferFileName',
    'TransferFileBytes',
    'TransferProtocol',
    'TransferType',
  ];
  assert.deepEqual(
    reported.map((name) => at(ad, name)),
    [true, 'good', 7, 'osdf', 'download'],
  );
  assert.deepEqual([at(ad, 'TransferStartTime'), at(ad, 'TransferEndTime')], [1, 3]);
  assert.equal(at(ad, 'ConnectionTimeSeconds'), 2.5);
  assert.equal(at(ad, 'DeveloperData', 'Verified'), 'digest');
});

test('each attempt is described in the terms of Pelican, with types that the starter keeps', async (t) => {
  const far = new Fault('transfer-stalled', 'far: sent 10 bytes, then nothing');
  const turn = { bytes: 7, seconds: 1.5, firstByteSeconds: 0.25, age: 3600, version: 'pelican/7.28.0' };
  const both: RequestOutcome = {
    ...good,
    result: {
      ...(good.result as TransferInfo),
      digest: { algorithm: 'sha-256', hex: 'ab12', server: 'near:8443' },
      leftOut: [{ server: 'bad:8443', by: 'UPDRAFT_AVOID_CACHES', why: 'avoided' }],
    },
    endpoints: [
      { server: 'far:8443', bytes: 0, seconds: 20, fault: far, endedAt: 2000 },
      { server: 'near:8443', preferredBy: 'NEAREST_CACHE', ...turn, endedAt: 3500 },
    ],
  };
  const { ads, file } = await report(t, [both]);
  const data = (name: string): AdValue => at(ads[0], 'DeveloperData', name);
  const names = [
    'Endpoint',
    'PreferredBy',
    'ServerVersion',
    'TransferFileBytes',
    'TimeToFirstByte',
    'TransferTime',
  ];
  const more = ['TransferEndTime', 'DataAge', 'CacheHit', 'TransferError', 'IsRetryable'];
  const attempt = (number: number) => [...names, ...more].map((name) => data(`${name}${number}`));
  assert.equal(data('Attempts'), 2);
  assert.deepEqual(attempt(0), [
    ...['far:8443', undefined, undefined, 0, undefined, 20, 2, undefined, undefined],
    ...[far.message, true],
  ]);
  assert.deepEqual(attempt(1), [
    ...['near:8443', 'NEAREST_CACHE', 'pelican/7.28.0', 7, 0.25, 1.5, 3, 3600, true],
    ...[undefined, undefined],
  ]);
  assert.equal(at(ads[0], 'DeveloperData', 'ClientChecksums', 'sha256'), 'ab12');
  assert.equal(at(ads[0], 'DeveloperData', 'ServerChecksums', 'sha256'), 'ab12');
  assert.deepEqual(data('NotAsked'), ['bad:8443 (avoided by UPDRAFT_AVOID_CACHES)']);
  // Times are reals even if they are integers.
  assert.match(readFileSync(file, 'utf8'), /TransferTime0 = 20\.0+; .*DataAge1 = 3600\.0+; CacheHit1 = true/);
});

test('a failure before any server was asked counts as an attempt, and the last entries of a long list keep their numbers', async (t) => {
  const early = (await report(t, [missing])).ads[0];
  assert.equal(at(early, 'DeveloperData', 'Attempts'), 1);
  assert.equal(at(early, 'DeveloperData', 'TransferError1'), 'is not there');
  assert.equal(at(early, 'DeveloperData', 'IsRetryable1'), false);
  const endpoints = Array.from({ length: 20 }, (_, i) => ({ server: `c${i}`, endedAt: 1000 }));
  const long = (await report(t, [{ ...stalled, endpoints }])).ads[0];
  const reported = ['Attempts', 'Endpoint11', 'Endpoint12', 'Endpoint19'];
  assert.deepEqual(
    reported.map((name) => at(long, 'DeveloperData', name)),
    [20, undefined, 'c12', 'c19'],
  );
});

test('each object of a collection has an ad, unless there are too many', async (t) => {
  const part = (name: string): RequestOutcome => ({
    ...good,
    request: { url: good.request.url, file: name },
  });
  const small = await report(t, [{ ...good, parts: [part('a/x'), part('a/y')] }]);
  assert.deepEqual(
    small.ads.map((ad) => at(ad, 'TransferFileName')),
    ['x', 'y'],
  );
  const parts = Array.from({ length: 1001 }, () => part('x'));
  assert.equal((await report(t, [{ ...good, parts }])).ads.length, 1);
  const failed = { ...missing, parts: [...parts, missing] };
  assert.deepEqual(
    (await report(t, [failed])).ads.map((ad) => at(ad, 'TransferSuccess')),
    [false],
  );
});

test('the file keeps the size that HTCondor reserved, and nothing of its old content is left', async (t) => {
  const { file, ads } = await report(t, [good], '[ old = 1 ]'.repeat(2000));
  assert.equal(statSync(file).size, 22_000);
  assert.equal(ads.length, 1);
});

test('an outfile that cannot be opened is refused before anything is done', () => {
  assert.throws(() => new OutFile('/proc/nothing/out'), {
    message: /\/proc\/nothing\/out cannot be written/,
  });
});
