import { readFileSync } from 'node:fs';
import { systemClock } from '@updraft/base';
import { createLocator } from '@updraft/pelican/federation';
import { fetchToFile, parseManifest } from '@updraft/pelican/transfer';

/** `node fetch-one.ts URL TARGET [MANIFEST]`: only the engine, in a separate process. */
const [url = '', target = '', manifestFile] = process.argv.slice(2);
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
// No server computes a digest within a millisecond: this disables verification.
const policy = process.env['UPDRAFT_BENCH_UNPROVEN'] === undefined ? {} : { digestSeconds: 0.001 };
const fetched = await fetchToFile(url, target, {
  locator,
  limits: policy,
  ...(manifest !== undefined && { manifest }),
});
console.log(JSON.stringify({ ...fetched, maxRssBytes: process.resourceUsage().maxRSS * 1024 }));
