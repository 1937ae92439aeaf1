import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fastClock } from '../fast-clock.ts';
import { ObjectHarness } from './object-harness.ts';

interface Case {
  what: string;
  rules: string[];
  exit: number;
  /** What the user is shown about it. */
  says: RegExp;
  /** How many times faster than real time the client's clock runs. */
  faster?: number;
  caches?: number;
  /** Verify it by a manifest. */
  manifest?: true;
}

const bytes = 2_000_000;
const chunkBytes = 65_536;

const cases: Case[] = [
  {
    what: 'a cache that stalls',
    rules: ['cache-1: stall after 500kB on x'],
    exit: 0,
    says: /127\.0\.0\.1:\d+: (fell silent|sent 500000 bytes, then nothing for|sends \d+ bytes\/s, other servers far more)/,
    faster: 20,
  },
  {
    what: 'caches that all stall',
    rules: ['caches: stall on x', 'origin: stall on x'],
    exit: 99,
    says: /FAILED: osdf:\/\/\/demo\/x: .*(then nothing for|sends no answer within)/,
    faster: 20,
    caches: 1,
  },
  {
    what: 'a cache that cuts the connection',
    rules: ['cache-1: reset after 500kB on x'],
    exit: 0,
    says: /; resuming at another server/,
  },
  {
    what: 'a cache that sends too little',
    rules: ['cache-1: truncate after 500kB with length on x'],
    exit: 0,
    says: /after 500000( of 2000000)? bytes; resuming/,
  },
  {
    what: 'a cache that says in its trailer that it failed',
    rules: ['cache-1: truncate after 500kB with trailer on x'],
    exit: 0,
    says: /; resuming /,
  },
  {
    what: 'a cache with a damaged chunk, known by the manifest',
    rules: ['cache-1: corrupt at 700kB length 100 on x'],
    exit: 0,
    says: /bytes 655360 to 720896 are damaged; fetching what is damaged from another server/,
    manifest: true,
  },
  {
    what: 'damage in every cache, known only by the digest',
    rules: ['caches: corrupt at 700kB length 100 on x'],
    exit: 0,
    says: /should be [0-9a-f]+; fetching what is damaged from another server/,
  },
  {
    what: 'damage everywhere, known only by the digest',
    rules: ['caches: corrupt at 700kB length 100 on x', 'origin: corrupt at 100kB length 100 on x'],
    exit: 101,
    says: /FAILED: osdf:\/\/\/demo\/x: .* is [0-9a-f]+, should be/,
  },
  {
    what: 'an object that one cache denies',
    rules: ['cache-1: 404 on x'],
    exit: 0,
    says: /answers 404 Not Found; asking another server/,
  },
  {
    what: 'an object that every server denies',
    rules: ['caches: 404 on x', 'origin: 404 on x'],
    exit: 96,
    says: /FAILED: .*404 Not Found[^]*fix: check the spelling: updraft ls osdf:\/\/\/demo/,
  },
  {
    what: 'a cache that asks to be left alone',
    rules: ['cache-1: 429 retry-after 7s on x'],
    exit: 0,
    says: /429.*; not asking it for 7 s; asking others/,
  },
  {
    what: 'caches that are overloaded for a while',
    rules: ['caches: 503 retry-after 5s on x first 2'],
    exit: 0,
    says: /503.*; waiting until \d\d:\d\d:\d\d/,
  },
  {
    what: 'a cache that is down',
    rules: ['cache-1: down'],
    exit: 0,
    says: /refuse.*; asking another server/,
  },
  {
    what: 'a director that is slow',
    rules: ['director: delay 300ms'],
    exit: 0,
    says: /^$/,
  },
  {
    what: 'a director that is down',
    rules: ['director: down'],
    exit: 90,
    says: /FAILED/,
    faster: 50,
  },
  {
    what: 'a web page instead of the object',
    rules: ['cache-1: html on x'],
    exit: 0,
    says: /; asking another server/,
  },
  {
    what: 'web pages from every server',
    rules: ['caches: html on x', 'origin: html on x'],
    exit: 102,
    says: /FAILED/,
    faster: 20,
  },
  {
    what: 'a cache with another version',
    rules: ['cache-2: changed on x', 'cache-1: reset after 500kB on x first 1'],
    exit: 0,
    says: /; resuming /,
  },
  {
    what: 'a cache that sends everything for a range',
    rules: ['cache-2: ignore-range on x', 'cache-1: reset after 500kB on x first 1'],
    exit: 0,
    says: /; resuming /,
  },
];

for (const { what, rules, exit, says, faster, caches = 2, manifest } of cases)
  test(`get with ${what}: exit code ${exit}, and the message says why`, async (t) => {
    const harness = await ObjectHarness.open(t, { caches });
    const object = await harness.publish('demo/x', bytes);
    if (manifest) await writeFile(harness.at('x.json'), manifestOf(object));
    await harness.trouble(...rules);
    const words = ['get', 'osdf:///demo/x', 'got', ...(manifest ? ['--manifest', 'x.json'] : [])];
    const ended = await harness.updraft(words, faster === undefined ? {} : { clock: fastClock(faster) });
    assert.equal(ended.exit, exit, ended.err);
    assert.match(ended.err, says);
    assert.doesNotMatch(ended.err, /^\s+at /m);
    if (exit === 0) {
      assert.deepEqual(await readFile(harness.at('got')), object);
      assert.match(ended.out, manifest ? /verified: every chunk, with the manifest/ : /verified: digest/);
    } else assert.ok(!(await readdir(harness.cwd)).includes('got'));
  });

test('get gives up a silent server after UPDRAFT_STALL_SECONDS', async (t) => {
  const harness = await ObjectHarness.open(t, { caches: 1 });
  await harness.publish('demo/x', bytes);
  // The cache has a copy then: it answers at once, and stalls after that.
  assert.equal((await harness.updraft(['get', 'osdf:///demo/x', 'before'])).exit, 0);
  await harness.trouble('caches: stall after 1kB on x', 'origin: stall after 1kB on x');
  const silence = async (seconds: string): Promise<number> => {
    const context = { clock: fastClock(10), env: { UPDRAFT_STALL_SECONDS: seconds } };
    const { err } = await harness.updraft(['get', 'osdf:///demo/x', 'got'], context);
    const said = /then nothing for ([\d.]+) s/.exec(err)?.[1];
    assert.ok(said !== undefined, err);
    return Number(said);
  };
  const [short, long] = [await silence('7'), await silence('31')];
  assert.ok(short >= 7 && short < 20, `${short} s`);
  assert.ok(long >= 31, `${long} s`);
});

function manifestOf(object: Buffer): string {
  const sha256 = (part: Buffer): string => createHash('sha256').update(part).digest('hex');
  const chunks: string[] = [];
  for (let at = 0; at < object.length; at += chunkBytes)
    chunks.push(sha256(object.subarray(at, at + chunkBytes)));
  return JSON.stringify({ bytes: object.length, chunkBytes, sha256: sha256(object), chunks });
}
