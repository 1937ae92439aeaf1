import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { manifestOf } from '../../bench/manifest-of.ts';
import { type Obstacle, troubleCourse } from '../../bench/trouble/course.ts';
import { systemClock } from '@updraft/base';
import { createLocator } from '@updraft/pelican/federation';
import { type ServerModel, serverModels, startFederation } from '@updraft/mini/federation';
import { fetchToFile } from '@updraft/pelican/transfer';
import { temporaryFolder } from '../temporary-folder.ts';

const bytes = randomBytes(6 << 20);
const folder = mkdtempSync(path.join(tmpdir(), 'updraft-course-'));
const published = path.join(folder, 'published');
mkdirSync(published);
writeFileSync(path.join(published, 'object.bin'), bytes);
const manifest = manifestOf(path.join(published, 'object.bin'));
after(() => rmSync(folder, { recursive: true }));

for (const like of serverModels)
  test(`the client passes the trouble course at servers like ${like}`, { concurrency: 4 }, async (t) => {
    const course = troubleCourse(bytes.length, 0.1);
    await Promise.all(course.map((each, index) => t.test(each.name, (own) => pass(own, like, each, index))));
  });

/** Every other obstacle is met with empty caches. */
async function pass(
  t: TestContext,
  like: ServerModel,
  { rules, token }: Obstacle,
  index: number,
): Promise<void> {
  const folder = await temporaryFolder(t);
  const namespaces = [{ prefix: '/demo', folder: published, public: token !== true }];
  const federation = await startFederation({ namespaces, caches: 3, like });
  t.after(() => federation.stop());
  const { discoveryHost, caFile, caches } = federation;
  const tokenFile = path.join(folder, 'token');
  if (token === true) await writeFile(tokenFile, federation.issueToken());
  if (index % 2 === 0)
    for (const { httpUrl } of caches) {
      const headers = token === true ? { Authorization: `Bearer ${federation.issueToken()}` } : {};
      await (await fetch(`${httpUrl}/demo/object.bin`, { headers })).arrayBuffer();
    }
  for (const rule of rules) await federation.trouble.add(rule);
  const env = { UPDRAFT_OSDF_HOST: discoveryHost, SSL_CERT_FILE: caFile };
  const own = { cwd: folder, uid: 4_000_000_006, clock: systemClock, version: '0' };
  const target = path.join(folder, 'copy.bin');
  await fetchToFile('osdf:///demo/object.bin', target, {
    locator: createLocator({ env, ...own }),
    manifest,
    limits: { stallSeconds: 5 },
    ...(token === true && { tokenFile }),
    onEvent: (event) => {
      // The access point renews a token that has expired.
      if (token !== true || event.kind !== 'setback') return;
      writeFileSync(`${tokenFile}.new`, federation.issueToken());
      renameSync(`${tokenFile}.new`, tokenFile);
    },
  });
  assert.ok((await readFile(target)).equals(bytes));
}
