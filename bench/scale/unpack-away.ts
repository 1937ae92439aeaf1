import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '@updraft/base';
import { createLocator } from '@updraft/pelican/federation';
import { fetchToStream, parseManifest } from '@updraft/pelican/transfer';
import { openUnpacker } from '@updraft/archive';
import { filesPerClass, pictureName, pictureSha256 } from './generated-object.ts';

/**
 * `node unpack-away.ts URL FOLDER MANIFEST`: fetches, verifies and unpacks like the agent with `arriving`; checks and
 * removes each class folder as soon as it appears.
 */
const [url = '', folder = '', manifestFile = ''] = process.argv.slice(2);
const [into, stagedUnder] = [path.join(folder, 'into'), path.join(folder, 'stage')];
for (const made of [into, stagedUnder]) mkdirSync(made, { recursive: true });
const locator = createLocator({
  env: process.env,
  cwd: process.cwd(),
  uid: process.getuid?.() ?? 0,
  clock: systemClock,
  version: '0',
});
// The benchmark reads stdout only.
process.on('uncaughtException', (error) => {
  console.log(error);
  process.exit(1);
});
const going = new Map<string, Promise<void>>();
let classes = 0;

/** Checks one picture of each new class folder, a different one each time, and removes the folder. */
function throwAway(): void {
  for (const name of readdirSync(into)) {
    const found = path.join(into, name);
    if (name.startsWith('.') || going.has(name)) continue;
    const [files, picked] = [readdirSync(found).length, (classes * 7919) % filesPerClass];
    const bytes = readFileSync(path.join(found, pictureName(picked)));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (files !== filesPerClass || sha256 !== pictureSha256(picked)) throw new Error(`${name} is wrong`);
    classes += 1;
    const removed = rm(found, { recursive: true }).then(() => void going.delete(name));
    going.set(name, removed);
  }
}

const manifest = parseManifest(readFileSync(manifestFile, 'utf8'), manifestFile, 'sent');
const unpacker = openUnpacker({
  name: url,
  mode: 'nested',
  into,
  arriving: { stagedUnder, onPart: throwAway },
});
const fetched = await fetchToStream(url, (chunk) => unpacker.write(chunk), {
  locator,
  manifest,
  limits: { windowBytes: 32 << 20 },
});
const unpacked = await unpacker.finish();
throwAway();
await Promise.all(going.values());
const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
console.log(
  JSON.stringify({
    ...{ ...fetched, files: unpacked.files, classes, chunks: manifest.chunks.length },
    ...{ maxRssBytes: maxRSS * 1024, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 },
  }),
);
