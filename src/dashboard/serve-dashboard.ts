import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../fault/fault.ts';
import { Gatekeeper, isLoopback } from './gatekeeper.ts';
import type { DescribeJob } from './job-row.ts';
import { pageMaker, plainPage } from './page.ts';
import { handleRequest, keepAlive, sendHtml, sendText, type ServedRuns } from './routes.ts';
import { RunHub } from './run-hub.ts';
import type { RunSource } from './run-source.ts';

export interface DashboardOptions {
  runs: readonly RunSource[];
  describe: DescribeJob;
  clock: Clock;
  version: string;
  /** 0, the default, takes any that is free. */
  port?: number;
}

export interface Dashboard {
  /** With the one-time token in it. */
  url: string;
  port: number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves the page of these runs on this machine's loopback address alone, until it is disposed of. */
export async function serveDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { clock, version, port = 0 } = options;
  const done = new AbortController();
  const hubs = options.runs.map((run) => new RunHub(run, options.describe, clock));
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
        new Fault('usage', `port ${port} of this machine cannot be used: ${error.message}`, {
          about: String(port),
          fix: 'leave --port out, or choose another one',
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
    if (!isLoopback(request.headers)) sendText(response, 421, 'This page answers to 127.0.0.1 only.');
    else if (gatekeeper.isKnown(request.headers)) await handleRequest(site, request, response);
    else admit(gatekeeper, request, response);
  } catch {
    // The run's folder may have gone in mid-answer; the page shows the hub's own word on that.
    if (!response.headersSent) sendText(response, 500, 'This could not be read.');
    else response.destroy();
  }
}

function admit(gatekeeper: Gatekeeper, request: IncomingMessage, response: ServerResponse): void {
  const token = new URL(request.url ?? '/', 'http://localhost').searchParams.get('token');
  const admission = token === null || request.method !== 'GET' ? 'wrong' : gatekeeper.admit(token);
  if (typeof admission === 'object') {
    response.setHeader('Set-Cookie', admission.cookie);
    // Not a redirect: a browser that came from elsewhere would not send the new cookie along with one.
    sendHtml(response, 200, plainPage('Opening …', 'The dashboard opens.', '/'));
  } else sendHtml(response, 403, plainPage(...refusals[admission]));
}

const refusals: Record<'used' | 'wrong', [title: string, text: string]> = {
  used: [
    'This link was used already',
    'It opens the dashboard once, in one browser. Start `updraft dashboard` again for a new one.',
  ],
  wrong: [
    'Not without the link',
    'Open the whole link that `updraft dashboard` printed; the token in it lets you in.',
  ],
};
