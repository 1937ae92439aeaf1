import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

interface ByteServer {
  url: string;
  /** Resolves when the first body was requested and started. */
  begun: Promise<void>;
  /** Sends the rest to everyone who waits for it. */
  sendRest(): void;
}

/** Serves the same bytes under every name; only `sent` of them, and then nothing, to simulate a stall. */
export async function serveBytes(t: TestContext, bytes: Buffer, sent = bytes.length): Promise<ByteServer> {
  let begin = (): void => undefined;
  const waiting: http.ServerResponse[] = [];
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const server = http.createServer((request, response) => {
    response.writeHead(200, { 'Content-Length': bytes.length, ETag: '"1"' });
    if (request.method === 'HEAD') return void response.end();
    if (sent === bytes.length) return void response.end(bytes);
    response.write(bytes.subarray(0, sent), begin);
    waiting.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const sendRest = (): void => {
    for (const response of waiting) response.end(bytes.subarray(sent));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, begun, sendRest };
}
