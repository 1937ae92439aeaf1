import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testFederation } from '../../../test/federation/origin-server.ts';
import { askCopy, type CachedCopy } from './stat-object.ts';

type Headers = Record<string, string | number>;
/** Status and headers of HEAD with only-if-cached, and of a plain HEAD. */
type Cache = [onlyIfCached: [number, Headers], plain?: [number, Headers]];

const size = { 'Content-Length': 5 };

test("the copies of Pelican's and XRootD's caches are distinguished by their answers", async (t) => {
  const cases: [string, Cache, CachedCopy['holds']][] = [
    ['Pelican without a copy', [[504, {}]], 'none'],
    [
      'Pelican with all of it',
      [
        [200, size],
        [200, { ...size, Age: 0 }],
      ],
      'whole',
    ],
    [
      'Pelican with a part',
      [
        [200, size],
        [200, size],
      ],
      'part',
    ],
    ['XRootD 6 with all of it', [[200, { ...size, Server: 'XRootD', Age: 0 }]], 'whole'],
    ['XRootD 6 without, or with a part', [[200, { ...size, Server: 'XRootD' }]], 'none'],
    ['XRootD 5', [[200, { ...size, Server: 'XrootD/v5.5.3' }]], 'unknown'],
    ['a cache in trouble', [[503, {}]], 'unknown'],
  ];
  for (const [what, [first, second], holds] of cases) {
    const { federation, asked } = await testFederation(t, [
      ({ headers }, response) => {
        const [status, said] = headers['cache-control'] === 'only-if-cached' ? first : (second ?? [500, {}]);
        response.writeHead(status, said).end();
      },
    ]);
    const located = await federation.locate('osdf:///ns/x');
    const [server] = located.servers;
    assert.ok(server);
    const copy = await askCopy(located, server, { federation });
    assert.deepEqual([copy.holds, copy.status], [holds, first[0]], what);
    // A plain HEAD makes a cache without a copy ask the origin for digests.
    assert.equal(asked[0]?.length, second === undefined ? 1 : 2, what);
    assert.ok(asked[0].every(({ method }) => method === 'HEAD'));
  }
});

test('a cache that does not answer is unknown', async (t) => {
  const { federation } = await testFederation(t, [(_, response) => response.destroy()]);
  const located = await federation.locate('osdf:///ns/x');
  const [server] = located.servers;
  assert.ok(server);
  assert.deepEqual(await askCopy(located, server, { federation }), { holds: 'unknown' });
});
