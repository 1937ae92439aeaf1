import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { testFederation } from '../../../test/federation/origin-server.ts';
import * as stat from './stat.ts';

test('stat asks the caches and the origin at the same time', async (t) => {
  const [cacheAsked, originAsked] = [Promise.withResolvers<true>(), Promise.withResolvers<true>()];
  const props = '<d:prop><d:resourcetype/><d:getcontentlength>5</d:getcontentlength></d:prop>';
  const found = `<d:multistatus xmlns:d="DAV:"><d:response><d:href>/ns/x</d:href><d:propstat>${props}<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>`;
  const { env, folder, clock } = await testFederation(
    t,
    [
      (_, response) => {
        cacheAsked.resolve(true);
        void originAsked.promise.then(() => response.writeHead(504).end());
      },
      ({ method }, response) => {
        if (method !== 'PROPFIND') return response.writeHead(503).end();
        originAsked.resolve(true);
        void cacheAsked.promise.then(() => response.writeHead(207).end(found));
      },
    ],
    { listing: true },
  );
  const { out } = await runCommand(stat, ['osdf:///ns/x'], { cwd: folder, env, clock });
  assert.match(out, /^size +5 [^]*^cache +\S+ +not cached yet$/m);
});
