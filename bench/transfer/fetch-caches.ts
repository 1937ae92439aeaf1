import type { Located } from '@updraft/pelican/federation';
import { fetchToFile } from '@updraft/pelican/transfer';

/** `node fetch-caches.ts TARGET URL...`: the engine in a separate process, with these URLs as caches of one object. */
const [target = '', ...urls] = process.argv.slice(2);
const located: Located = {
  url: 'osdf:///bench/object',
  servers: urls.map((url) => ({ url, host: new URL(url).host, kind: 'cache' as const })),
  requireToken: false,
  headers: () => Promise.resolve({}),
};
const locator = { ca: undefined, locate: () => Promise.resolve(located) };
const fetched = await fetchToFile(located.url, target, { locator });
console.log(JSON.stringify(fetched));
