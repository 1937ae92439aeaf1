import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { Gatekeeper, isLoopback } from './gatekeeper.ts';
import { pageMaker, plainPage } from './page.ts';
import { handleRequest, keepAlive, sendHtml, sendText, type ServedRuns } from './routes.ts';
import { RunHub } from './run-hub.ts';
import type { RunSource } from './run-source.ts';

export interface DashboardOptions {
  runs: readonly RunSource[];
  clock: Clock;
  version: string;
  /** Default: 0, any free port. */
  port?: number;
}

export interface Dashboard {
  /** With the one-time token in it. */
  url: string;
  port: number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves the page of these runs on the loopback address until disposed. */
export async function serveDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { clock, version, port = 0 } = options;
  const done = new AbortController();
  const hubs = options.runs.map((run) => new RunHub(run, clock));
  const site: ServedRuns = { hubs, makePage: await pageMaker(), streams: new Set(), clock, version };
  const server = createServer();
  const address = await listen(server, port);
  const gatekeeper = new Gatekeeper(address.port);
  server.on('request', (request, response) => void respond(site, gatekeeper, request, response));
  const following = hubs.map((hub) => hub.run(done.signal));
  const heartbeat = keepAlive(site.streams, hubs, clock, done.signal);
  return {
    url: `http://127.0.0.1:${address.port}/?token=${gatekeeper.token}`,
    port: address.port,
    async [Symbol.asyncDispose]() {
      done.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all([...following, heartbeat]);
    },
  };
}

function listen(server: Server, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new Fault('usage', `port ${port} cannot be used: ${error.message}`, {
          about: String(port),
          fix: 'omit --port, or choose another port',
          cause: error,
        }),
      );
    });
    server.listen(port, '127.0.0.1', () => resolve(server.address() as AddressInfo));
  });
}

const always = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

async function respond(
  site: ServedRuns,
  gatekeeper: Gatekeeper,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  for (const [name, value] of Object.entries(always)) response.setHeader(name, value);
  try {
    if (!isLoopback(request.headers)) sendText(response, 421, 'This page is served at 127.0.0.1 only.');
    else if (gatekeeper.isKnown(request.headers)) await handleRequest(site, request, response);
    else admit(gatekeeper, request, response);
  } catch {
    // The run's folder may have disappeared; the page shows the hub's message about that.
    if (!response.headersSent) sendText(response, 500, 'The run could not be read.');
    else response.destroy();
  }
}

function admit(gatekeeper: Gatekeeper, request: IncomingMessage, response: ServerResponse): void {
  const token = new URL(request.url ?? '/', 'http://localhost').searchParams.get('token');
  const admission = token === null || request.method !== 'GET' ? 'wrong' : gatekeeper.admit(token);
  if (typeof admission === 'object') {
    response.setHeader('Set-Cookie', admission.cookie);
    // Not a redirect: after a click on another site, the browser would not send the new cookie with it.
    sendHtml(response, 200, plainPage('Opening …', 'The dashboard is opening.', '/'));
  } else sendHtml(response, 403, plainPage(...refusals[admission]));
}

const refusals: Record<'used' | 'wrong', [title: string, text: string]> = {
  used: [
    'This link has been used already',
    'A link works once, in one browser. Start `updraft dashboard` again for a new one.',
  ],
  wrong: ['Access denied', 'Open the complete link that `updraft dashboard` printed, including its token.'],
};
