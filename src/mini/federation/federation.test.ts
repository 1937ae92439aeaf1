import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';

test('an object comes whole from the origin and from each cache, over https and http', async (t) => {
  const { federation, objects } = await demoFederation(t);
  for (const server of [federation.origin, ...federation.caches])
    for (const base of [server.url, server.httpUrl]) {
      const answer = await ask(federation, `${base}/demo/big.bin`);
      assert.equal(answer.status, 200);
      assert.ok(answer.body.equals(objects.big), base);
    }
});
