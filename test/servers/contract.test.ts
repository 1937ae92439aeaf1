import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import type { Fault } from '@updraft/account/fault';
import {
  createLocator,
  type FederationLocator,
  listCollection,
  statObject,
} from '@updraft/pelican/federation';
import { fetchToFile, fetchToStream } from '@updraft/pelican/transfer';
import { temporaryFolder } from '../temporary-folder.ts';
import { sources, type Source } from './sources.ts';

const mib = 1 << 20;
const hashOf = (data: Buffer): string => createHash('sha256').update(data).digest('hex');
/** More than the buffers of a connection that is cut can hold. */
const bytes = randomBytes(24 * mib);
const sha256 = hashOf(bytes);
/** An object whose connections are left alone. */
const whole = bytes.subarray(0, 4 * mib);
const page = '<!DOCTYPE html>\n<html><body>a page that is data</body></html>\n';

interface ContractHarness {
  source: Source;
  locator: FederationLocator;
  /** The client's folder, new for each promise. */
  folder: string;
}

type Promised = (harness: ContractHarness) => Promise<void>;

const promises: Record<string, Promised> = {
  async 'a whole object arrives, verified by its hash'({ source, locator, folder }) {
    const target = path.join(folder, 'whole.bin');
    const fetched = await fetchToFile(`${source.url}/whole.bin`, target, { locator, sha256: hashOf(whole) });
    assert.equal(fetched.bytes, whole.length);
    assert.equal(fetched.verified, 'digest');
    assert.deepEqual(await readFile(target), whole);
  },

  async "without our own hash the server's digest verifies the object, if it offers one"(harness) {
    const { source, locator, folder } = harness;
    const target = path.join(folder, 'whole.bin');
    const fetched = await fetchToFile(`${source.url}/whole.bin`, target, { locator });
    assert.equal(fetched.verified, source.offers.digests ? 'digest' : 'size');
    assert.deepEqual(await readFile(target), whole);
  },

  async 'bytes arrive in order at a reader that takes them as they come'({ source, locator }) {
    const hash = createHash('sha256');
    const take = (chunk: Buffer): void => void hash.update(chunk);
    const fetched = await fetchToStream(`${source.url}/whole.bin`, take, { locator });
    assert.equal(fetched.bytes, whole.length);
    assert.equal(hash.digest('hex'), hashOf(whole));
  },

  async 'a range is answered with 206 and exactly its bytes'({ source }) {
    const headers = { Range: `bytes=${mib - 7}-${mib + 6}` };
    const answer = await fetch(`${source.serverUrl}/whole.bin`, { headers });
    assert.equal(answer.status, 206);
    assert.equal(answer.headers.get('content-range'), `bytes ${mib - 7}-${mib + 6}/${whole.length}`);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), whole.subarray(mib - 7, mib + 7));
  },

  async 'after a connection breaks, the transfer continues from that byte'(harness) {
    const { source, locator, folder } = harness;
    const target = path.join(folder, 'cut.bin');
    const setbacks: string[] = [];
    await source.cutOnce(8 * mib);
    const fetched = await fetchToFile(`${source.url}/cut.bin`, target, {
      locator,
      sha256,
      onEvent: (event) => {
        if (event.kind === 'setback') setbacks.push(event.fault.message);
      },
    });
    // A busy machine may make a server look slow, too.
    assert.notEqual(setbacks.length, 0);
    assert.equal(sum(fetched.servers), bytes.length, setbacks.join('\n'));
    assert.deepEqual(await readFile(target), bytes);
  },

  async 'a server that falls silent is dropped, and the rest is fetched from that byte on'(harness) {
    const { source, locator, folder } = harness;
    const target = path.join(folder, 'silent.bin');
    const setbacks: string[] = [];
    await source.stallOnce(8 * mib);
    const fetched = await fetchToFile(`${source.url}/silent.bin`, target, {
      locator,
      sha256,
      limits: { stallSeconds: 2 },
      onEvent: (event) => {
        if (event.kind === 'setback') setbacks.push(event.fault.message);
      },
    });
    assert.match(setbacks[0] ?? '', /then nothing for|fell silent/);
    assert.equal(sum(fetched.servers), bytes.length);
    assert.deepEqual(await readFile(target), bytes);
  },

  async 'a later call resumes where an earlier one was stopped'({ source, locator, folder }) {
    const target = path.join(folder, 'stopped.bin');
    const stop = new AbortController();
    await source.cutOnce(8 * mib);
    const first = fetchToFile(`${source.url}/stopped.bin`, target, {
      locator,
      sha256,
      signal: stop.signal,
      onEvent: (event) => {
        if (event.kind === 'setback') stop.abort();
      },
    });
    await assert.rejects(first, { kind: 'interrupted' });
    assert.ok(!existsSync(target));
    const second = await fetchToFile(`${source.url}/stopped.bin`, target, { locator, sha256 });
    assert.ok(sum(second.servers) < bytes.length - 4 * mib, `${sum(second.servers)} bytes came again`);
    assert.deepEqual(await readFile(target), bytes);
  },

  async 'a later call resumes without a hash too, by what is known about the object'({
    source,
    locator,
    folder,
  }) {
    const target = path.join(folder, 'again.bin');
    const stop = new AbortController();
    await source.cutOnce(8 * mib);
    const onEvent = (event: { kind: string }): void => {
      if (event.kind === 'setback') stop.abort();
    };
    // With the size: on a fast connection the break may come before the origin has said it.
    const known = { bytes: bytes.length, signal: stop.signal, onEvent };
    const first = fetchToFile(`${source.url}/again.bin`, target, { locator, ...known });
    await assert.rejects(first, { kind: 'interrupted' });
    const second = await fetchToFile(`${source.url}/again.bin`, target, { locator });
    assert.ok(sum(second.servers) < bytes.length - 4 * mib, `${sum(second.servers)} bytes came again`);
    assert.deepEqual(await readFile(target), bytes);
  },

  async 'a folder is refused, and never saved as an object'({ source, locator, folder }) {
    const target = path.join(folder, 'folder');
    const fetched = fetchToFile(`${source.url}/folder`, target, { locator });
    await assert.rejects(fetched, (fault: Fault) => /folder/.test(fault.message));
    assert.ok(!existsSync(target));
  },

  async 'an object that is a web page arrives, if its size can be known'({ source, locator, folder }) {
    if (!source.offers.listing) return;
    const target = path.join(folder, 'page.html');
    await fetchToFile(`${source.url}/page.html`, target, { locator });
    assert.equal(await readFile(target, 'utf8'), page);
  },

  async 'an object that no cache has costs the origin a handful of requests'({ source, locator, folder }) {
    if (source.originRequests === undefined) return;
    const before = source.originRequests();
    await fetchToFile(`${source.url}/cold.bin`, path.join(folder, 'cold.bin'), { locator });
    const asked = source.originRequests() - before;
    assert.ok(asked <= 6, `${asked} requests at the origin`);
  },

  async 'bytes that contradict their hash are never published'({ source, locator, folder }) {
    const target = path.join(folder, 'wrong.bin');
    const wrong = createHash('sha256').update('something else').digest('hex');
    const fetched = fetchToFile(`${source.url}/small.bin`, target, { locator, sha256: wrong });
    await assert.rejects(fetched, { kind: 'expect-wrong' });
    assert.ok(!existsSync(target));
  },

  async 'an object of another size than expected is refused'({ source, locator, folder }) {
    const target = path.join(folder, 'size.bin');
    const fetched = fetchToFile(`${source.url}/small.bin`, target, { locator, bytes: 999 });
    await assert.rejects(fetched, (fault: Fault) => /999/.test(fault.message));
    assert.ok(!existsSync(target));
  },

  async 'a nonexistent object is reported as missing'({ source, locator, folder }) {
    const target = path.join(folder, 'none.bin');
    const missing = { kind: 'object-missing', message: /none\.bin/ };
    await assert.rejects(fetchToFile(`${source.url}/none.bin`, target, { locator }), missing);
    await assert.rejects(statObject(`${source.url}/none.bin`, { federation: locator }), missing);
    assert.ok(!existsSync(target));
  },

  async 'an empty object is an object'({ source, locator, folder }) {
    const target = path.join(folder, 'empty.bin');
    const fetched = await fetchToFile(`${source.url}/empty.bin`, target, { locator });
    assert.equal(fetched.bytes, 0);
    assert.equal((await readFile(target)).length, 0);
  },

  async 'names with spaces, commas, semicolons and letters of all languages work'(harness) {
    const { source, locator, folder } = harness;
    const target = path.join(folder, 'odd.bin');
    const name = encodeURIComponent('two words, ä;b.txt');
    await fetchToFile(`${source.url}/${name}`, target, { locator });
    assert.equal(await readFile(target, 'utf8'), 'odd');
  },

  async 'the size of an object is known without reading it'({ source, locator }) {
    const info = await statObject(`${source.url}/whole.bin`, { federation: locator });
    assert.equal(info.size, whole.length);
    assert.equal(info.isCollection, false);
  },

  async 'a folder lists its entries, if listings are offered'({ source, locator }) {
    const listed = listCollection(`${source.url}/folder`, { federation: locator });
    if (!source.offers.listing) {
      await assert.rejects(listed, (fault: Fault) => fault.message.includes('folder'));
      return;
    }
    const entries = await listed;
    assert.deepEqual(
      entries.map(({ name, size, isCollection }) => [name, isCollection ? 'folder' : size]),
      [
        ['one.txt', 3],
        ['sub', 'folder'],
      ],
    );
  },
};

for (const [name, start] of Object.entries(sources))
  test(name, async (t) => {
    const source = await start(t);
    if (source === undefined) return;
    await publish(source.folder);
    for (const [promise, keep] of Object.entries(promises))
      await t.test(promise, async (each) => keep(await harnessFor(each, source)));
  });

async function publish(folder: string): Promise<void> {
  for (const name of ['cut', 'silent', 'stopped', 'again'])
    await writeFile(path.join(folder, `${name}.bin`), bytes);
  for (const name of ['whole', 'cold']) await writeFile(path.join(folder, `${name}.bin`), whole);
  await writeFile(path.join(folder, 'small.bin'), randomBytes(1000));
  await writeFile(path.join(folder, 'empty.bin'), '');
  await writeFile(path.join(folder, 'page.html'), page);
  await writeFile(path.join(folder, 'two words, ä;b.txt'), 'odd');
  await mkdir(path.join(folder, 'folder', 'sub'), { recursive: true });
  await writeFile(path.join(folder, 'folder', 'one.txt'), 'one');
}

async function harnessFor(t: TestContext, source: Source): Promise<ContractHarness> {
  const folder = await temporaryFolder(t);
  const own = { cwd: folder, uid: 4_000_000_004, clock: systemClock, version: '0' };
  return { source, folder, locator: createLocator({ env: source.env, ...own }) };
}

function sum(servers: { bytes: number }[]): number {
  return servers.reduce((total, each) => total + each.bytes, 0);
}
