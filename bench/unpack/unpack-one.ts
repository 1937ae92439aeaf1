import { readFileSync } from 'node:fs';
import { systemClock } from '@updraft/base';
import { createLocator } from '@updraft/pelican/federation';
import { fetchToStream, parseManifest } from '@updraft/pelican/transfer';
import { openUnpacker } from '@updraft/archive';

/** `node unpack-one.ts URL INTO [MANIFEST]`: fetches and unpacks like the agent, in a separate process. */
const [url = '', into = '', manifestFile] = process.argv.slice(2);
const locator = createLocator({
  env: process.env,
  cwd: process.cwd(),
  uid: process.getuid?.() ?? 0,
  clock: systemClock,
  version: '0',
});
const manifest =
  manifestFile === undefined
    ? undefined
    : parseManifest(readFileSync(manifestFile, 'utf8'), manifestFile, 'sent');
const unpacker = openUnpacker({ name: url, mode: 'nested', into });
const fetched = await fetchToStream(url, (chunk) => unpacker.write(chunk), {
  locator,
  ...(manifest !== undefined && { manifest }),
});
const unpacked = await unpacker.finish();
console.log(JSON.stringify({ ...fetched, ...unpacked, maxRssBytes: process.resourceUsage().maxRSS * 1024 }));
