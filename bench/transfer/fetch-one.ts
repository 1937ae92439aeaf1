import { systemClock } from '../../src/base/clock.ts';
import { createLocator } from '../../src/federation/locator.ts';
import { fetchToFile } from '../../src/transfer/fetch-to-file.ts';

/** `node fetch-one.ts URL TARGET [SHA256]`: the engine alone, in a process of its own. */
const [url = '', target = '', sha256] = process.argv.slice(2);
const locator = createLocator({
  ...{ env: process.env, cwd: process.cwd(), uid: process.getuid?.() ?? 0 },
  ...{ clock: systemClock, version: '0' },
});
const fetched = await fetchToFile(url, target, { locator, ...(sha256 !== undefined && { sha256 }) });
console.log(JSON.stringify({ ...fetched, maxRssBytes: process.resourceUsage().maxRSS * 1024 }));
