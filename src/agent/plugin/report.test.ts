import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { attributeOf, type Ad, type AdValue } from '../../classad/ad.ts';
import { parseAds } from '../../classad/parse.ts';
import { Fault } from '../../fault/fault.ts';
import type { Outcome } from './requests.ts';
import { OutFile, writeReport } from './report.ts';

const context = { direction: 'download', version: '1.2.3', place: { host: 'h', site: 'S' } } as const;
const outcome = (url: string, result: Outcome['result']): Outcome => ({
  request: { url, file: `/s/${path.basename(url)}` },
  result,
  startedAt: 1000,
  endedAt: 3500,
  endpoints: [],
});
const good = outcome('osdf:///d/good', { bytes: 7, verified: 'digest', servers: [] });
const stalled = outcome('osdf:///d/stalled', new Fault('transfer-stalled', 'no byte\ncame'));
const missing = outcome('osdf:///d/missing', new Fault('object-missing', 'is not there', { fix: 'look' }));

async function report(t: Parameters<typeof temporaryFolder>[0], outcomes: Outcome[], before?: string) {
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

test('what no other try can mend is told first, and successes last', async (t) => {
  const { ads } = await report(t, [good, stalled, missing]);
  assert.deepEqual(
    ads.map((ad) => at(ad, 'TransferUrl')),
    ['osdf:///d/missing', 'osdf:///d/stalled', 'osdf:///d/good'],
  );
});

test('a failure says why, where, what to do and whether to try again, also in Pelican numbers', async (t) => {
  const { ads } = await report(t, [missing, stalled]);
  assert.equal(at(ads[0], 'TransferError'), 'is not there; fix: look (updraft 1.2.3, site S, host h)');
  assert.equal(at(ads[0], 'TransferRetryable'), false);
  assert.equal(at(ads[0], 'TransferErrorData', 'DeveloperData', 'PelicanErrorCode'), 5011);
  assert.equal(at(ads[0], 'TransferErrorData', 'Retryable'), 0);
  assert.match(at(ads[1], 'TransferError') as string, /^no byte came /);
  assert.equal(at(ads[1], 'TransferErrorData', 'ErrorType'), 'Transfer');
  assert.equal(at(ads[1], 'TransferErrorData', 'DeveloperData', 'ErrorType'), 'Transfer.StoppedTransfer');
});

test('a success says how much, when and how well proven', async (t) => {
  const [ad] = (await report(t, [good])).ads;
  const told = [
    'TransferSuccess',
    'TransferFileName',
    'TransferFileBytes',
    'TransferProtocol',
    'TransferType',
  ];
  assert.deepEqual(
    told.map((name) => at(ad, name)),
    [true, 'good', 7, 'osdf', 'download'],
  );
  assert.deepEqual([at(ad, 'TransferStartTime'), at(ad, 'TransferEndTime')], [1, 3]);
  assert.equal(at(ad, 'ConnectionTimeSeconds'), 2.5);
  assert.equal(at(ad, 'DeveloperData', 'Verified'), 'digest');
});

test('the room that HTCondor set aside is kept, and nothing of what was there before is left', async (t) => {
  const { file, ads } = await report(t, [good], '[ old = 1 ]'.repeat(2000));
  assert.equal(statSync(file).size, 22_000);
  assert.equal(ads.length, 1);
});

test('an outfile that cannot be opened is refused before anything is done', () => {
  assert.throws(() => new OutFile('/proc/nothing/out'), {
    message: /\/proc\/nothing\/out cannot be written/,
  });
});
