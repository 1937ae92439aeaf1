import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { bunFor, type Arch } from '../../scripts/bun.ts';
import { makeCertificateAuthority } from '@updraft/mini/testing';
import { behaviours } from './behaviours.ts';

/** Behaviours in which the two differ, and why no code of ours depends on it. */
const differences: Record<string, string> = {
  'readdir, recursive: links to folders':
    'Bun follows them; packages/base/walk-tree.ts walks without this option',
  'zstd and brotli: frames, a cut, garbage': 'Node reads the first frame only; unpack counts frames itself',
  'streams of zlib: a cut and a limit are errors':
    'to Bun, a cut zstd stream ends well; packages/archive/open-reader.ts refuses one that ends inside a frame',
};

const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-parity-'));
const run = promisify(execFile);

/** An authority, and a certificate of it for `localhost`. */
async function makeCertificate(name: string, now: number): Promise<void> {
  const authority = makeCertificateAuthority(name, now);
  const { certificate, key } = authority.issue(['localhost']);
  await writeFile(path.join(folder, `${name}.ca`), authority.certificate);
  await writeFile(path.join(folder, `${name}.crt`), certificate);
  await writeFile(path.join(folder, `${name}.key`), key);
}

async function outcomesUnder(program: string): Promise<Record<string, unknown>> {
  const script = path.join(import.meta.dirname, 'behaviours.ts');
  const env = { ...process.env, PARITY_CERTIFICATES: folder, TMPDIR: folder };
  const { stdout } = await run(program, [script], { env, maxBuffer: 1 << 26 });
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('what we rely on in Node is the same in Bun, or the difference is listed', async (t) => {
  t.after(() => rm(folder, { recursive: true, force: true }));
  await makeCertificate('good', Date.now());
  await makeCertificate('other', Date.now());
  await makeCertificate('expired', Date.parse('2020-01-01'));
  const bun = await bunFor(os.arch() as Arch);
  const [here, there] = await Promise.all([outcomesUnder(process.execPath), outcomesUnder(bun)]);
  assert.deepEqual(Object.keys(here), Object.keys(behaviours));
  assert.deepEqual(Object.keys(there), Object.keys(behaviours));
  for (const name of Object.keys(differences)) assert.ok(behaviours[name], `there is no behaviour "${name}"`);
  for (const [name, outcome] of Object.entries(here))
    await t.test(name, () => {
      const reason = differences[name];
      if (reason === undefined) assert.deepEqual(there[name], outcome);
      else assert.notDeepEqual(there[name], outcome, `the same now: take it off the list (${reason})`);
    });
});
