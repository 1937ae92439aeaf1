import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { createLocator, type FederationLocator } from '@updraft/pelican/federation';
import { jumpingClock } from './jumping-clock.ts';
import { testAuthority, webServer } from './web-server.ts';

type Received = Parameters<Parameters<typeof webServer>[1]>[0];
type Answer = (request: Received, response: ServerResponse, count: number) => void;

interface TestFederation {
  federation: FederationLocator;
  /** With which other code finds it, too. */
  env: Record<string, string>;
  clock: ReturnType<typeof jumpingClock>;
  /** A folder for this test, removed when it ends. */
  folder: string;
  /** Requests that each server got, in the order of the servers. */
  asked: Received[][];
}

/** A federation of these servers, best first; the director names all of them for everything under `/ns`. */
export async function testFederation(
  t: TestContext,
  answers: Answer[],
  shape: {
    listing?: boolean;
    origin?: boolean;
    origins?: number;
    requireToken?: boolean;
    env?: Record<string, string>;
  } = {},
): Promise<TestFederation> {
  const servers = await Promise.all(
    answers.map(async (answer) => {
      const server = await webServer(t, (request, response) =>
        answer(request, response, server.requests.length),
      );
      return server;
    }),
  );
  const director = await webServer(t, ({ url, method }, response) => {
    if (url.startsWith('/.well-known/'))
      return response.end(JSON.stringify({ director_endpoint: director.url }));
    // PROPFIND asks for the origins: the last servers, if the shape has any; the very last lists.
    if (method === 'PROPFIND' && shape.origin !== true)
      return response.writeHead(405, { Server: 'pelican/7.27.0' }).end();
    const named = method === 'PROPFIND' ? servers.slice(-(shape.origins ?? 1)) : servers;
    const collections = shape.listing === true ? `, collections-url=${servers.at(-1)?.url ?? ''}` : '';
    const headers = {
      Server: 'pelican/7.27.0',
      Link: named.map((server, i) => `<${server.url}${url.split('?')[0] ?? ''}>; pri=${i + 1}`).join(', '),
      'X-Pelican-Namespace': `namespace=/ns, require-token=${shape.requireToken === true}${collections}`,
      'X-Pelican-Authorization': 'issuer=https://issuer.example',
    };
    return response.writeHead(307, headers).end();
  });
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-federation-'));
  t.after(() => rm(folder, { recursive: true }));
  const clock = jumpingClock([2_000, 2_500, 6_000, 10_000, 20_000, 30_000, 100_000, 900_000]);
  const env = { SSL_CERT_FILE: testAuthority, UPDRAFT_OSDF_HOST: director.host, ...shape.env };
  const federation = createLocator({ env, cwd: folder, uid: 4_000_000_003, clock, version: '0' });
  return { federation, env, clock, folder, asked: servers.map(({ requests }) => requests) };
}
