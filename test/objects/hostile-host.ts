import { readFile, writeFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { readClaims } from '@updraft/pelican/federation';
import { testAuthority, webServer } from '../federation/web-server.ts';
import type { ObjectHarness } from './object-harness.ts';

/** A federation on another host whose director names the real issuer of `/private`, and what it received of tokens. */
export async function hostileFederation(t: TestContext, harness: ObjectHarness) {
  const token = harness.federation.issueToken({ namespace: '/private' });
  const { issuer = '' } = readClaims(token) ?? {};
  const server = await webServer(t, ({ url }, response) => {
    if (url.startsWith('/.well-known/'))
      return response.end(JSON.stringify({ director_endpoint: `${server.url}/director` }));
    if (!url.startsWith('/director')) return response.end('hello');
    const named = {
      Server: 'pelican/7.27.0',
      Link: `<${server.url}${url.slice('/director'.length).split('?')[0] ?? ''}>; pri=1`,
      'X-Pelican-Namespace': `namespace=/private, require-token=true, collections-url=${server.url}`,
      'X-Pelican-Authorization': `issuer=${issuer}`,
      'X-Pelican-Token-Generation': `issuer=${issuer}, max-scope-depth=3, strategy=OAuth2`,
    };
    return response.writeHead(307, named).end();
  });
  const authorities = [testAuthority, harness.federation.caFile].map((file) => readFile(file, 'utf8'));
  await writeFile(harness.at('ca.pem'), (await Promise.all(authorities)).join('\n'));
  const env = { SSL_CERT_FILE: harness.at('ca.pem') };
  const stolen = (): string[] => server.requests.flatMap(({ headers }) => headers.authorization ?? []);
  return { host: server.host, url: `pelican://${server.host}/private/x`, issuer, env, stolen };
}
