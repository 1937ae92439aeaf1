import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, ObjectServer } from '@updraft/pelican/federation';
import { withCacheOptions } from './cache-options.ts';

test('--cache is refused for an object that has no caches', async () => {
  const at = (kind: ObjectServer['kind']): Locator => ({
    ca: undefined,
    locate: (url) => {
      const servers = [{ url, host: 'h', kind }];
      return Promise.resolve({ url, servers, requireToken: false, headers: () => Promise.resolve({}) });
    },
  });
  const plain = (options: object) => withCacheOptions(at('plain'), options).locate('https://h/x');
  await assert.rejects(plain({ cache: ['c.org'] }), {
    kind: 'usage',
    message: 'https://h/x has no caches: --cache c.org is for objects of a federation',
  });
  assert.equal((await plain({ avoidCache: ['c.org'] })).servers.length, 1);
  const federated = withCacheOptions(at('cache'), { cache: ['c.org'] });
  assert.equal((await federated.locate('osdf:///x')).servers.length, 1);
});
