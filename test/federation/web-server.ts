import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';

const tlsFolder = path.join(import.meta.dirname, '../fixtures/tls');

/** The authority that signed the servers' certificate; trusted by setting `SSL_CERT_FILE` to it. */
export const testAuthority = path.join(tlsFolder, 'ca.pem');

interface Received {
  method: string;
  url: string;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

interface WebServer {
  /** Base URL without a trailing slash. */
  url: string;
  host: string;
  /** All requests, in order. */
  requests: Received[];
}

type Handler = (request: Received, response: http.ServerResponse) => void;

/** A web server on a free loopback port that stops with the test; https with the test certificate. */
export async function webServer(
  t: TestContext,
  handler: Handler,
  options: { plain?: boolean; address?: string } = {},
): Promise<WebServer> {
  const requests: Received[] = [];
  const listener: http.RequestListener = (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => undefined);
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const request = { method, url, headers, body: Buffer.concat(chunks) };
      requests.push(request);
      handler(request, response);
    });
  };
  const server =
    options.plain === true ? http.createServer(listener) : https.createServer(credentials(), listener);
  const address = options.address ?? '127.0.0.1';
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const host = `${address.includes(':') ? `[${address}]` : address}:${(server.address() as AddressInfo).port}`;
  return { url: `${options.plain === true ? 'http' : 'https'}://${host}`, host, requests };
}

function credentials(): https.ServerOptions {
  return {
    cert: readFileSync(path.join(tlsFolder, 'server.pem')),
    key: readFileSync(path.join(tlsFolder, 'server-key.pem')),
  };
}
