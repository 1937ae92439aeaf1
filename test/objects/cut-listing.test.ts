import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { configureOf } from '../../src/cli/commands.ts';
import { asFault, type Fault } from '../../src/fault/fault.ts';
import { multistatus } from '../../src/mini/federation/listing.ts';
import { runCommand } from '../cli/run-command.ts';
import { testFederation } from '../federation/origin-server.ts';
import { adOf, callPlugin, textAt } from '../plugin/call-plugin.ts';

const listed = (objectPath: string, isFolder = false) => ({
  objectPath,
  isFolder,
  size: 3,
  modified: new Date(0),
  etag: '"e"',
});
const names = Array.from({ length: 10 }, (_, index) => `/ns/d/${index}`);

/** An origin that cuts each listing of this folder in half, the answer being complete as HTTP sees it. */
async function cutting(t: Parameters<typeof testFederation>[0], cut: string) {
  return await testFederation(
    t,
    [
      ({ method, url, headers }, answer) => {
        if (method === 'GET' || method === 'HEAD') return answer.writeHead(200).end('abc');
        if (method !== 'PROPFIND') return answer.writeHead(204).end();
        if (headers['depth'] === 'infinity') return answer.writeHead(403).end();
        const folder = url.replace(/\/$/, '');
        const inside =
          folder === '/ns/d' ? [...names.map((name) => listed(name)), listed('/ns/d/sub', true)] : [];
        const depth = headers['depth'] === '1' ? inside : [];
        const body = multistatus([listed(folder, true), ...depth]);
        return answer.writeHead(207).end(folder === cut ? body.slice(0, body.length / 2) : body);
      },
    ],
    { listing: true, origin: true },
  );
}

for (const [where, cut] of [
  ['the folder itself', '/ns/d'],
  ['a folder in it', '/ns/d/sub'],
] as const)
  test(`nothing is listed, fetched or deleted when the listing of ${where} is cut`, async (t) => {
    const { env, folder, asked } = await cutting(t, cut);
    const url = 'osdf:///ns/d';
    const commands = [
      ...(cut === '/ns/d' ? [['ls', url]] : []),
      ['ls', '--recursive', url],
      ['get', '--recursive', url, 'here'],
      ['warm', '--recursive', url],
      ['rm', '--recursive', '--yes', url],
    ];
    const running = commands.map(async (words) => {
      let out = '';
      const [name = '', ...args] = words;
      const cli = { cwd: folder, env, out: (text: string) => void (out += text) };
      const failed: Fault = await runCommand({ configure: await configureOf(name) }, args, cli).then(
        () => assert.fail(`${words.join(' ')} ended well`),
        asFault,
      );
      const wanted = name === 'rm' && cut === '/ns/d' ? /not say whether/ : /not answer with a whole listing/;
      assert.match(failed.message, wanted);
      assert.ok(failed.message.includes(`osdf://${cut}`), failed.message);
      assert.equal(out, '', words.join(' '));
    });
    await Promise.all(running);
    const file = path.join(folder, 'by-plugin');
    const requests = [{ url: `${url}?recursive`, file }];
    const there = { discoveryHost: env['UPDRAFT_OSDF_HOST'] ?? '', caFile: env['SSL_CERT_FILE'] ?? '' };
    const { exit, ads } = await callPlugin({ folder, federation: there, requests });
    assert.notEqual(exit, 0);
    assert.match(textAt(adOf(ads, `${url}?recursive`), 'TransferError'), /whole listing/);
    assert.ok(!existsSync(file) && !existsSync(path.join(folder, 'here')));
    const methods = new Set(asked[0]?.map(({ method }) => method));
    assert.deepEqual([...methods], ['PROPFIND']);
  });
