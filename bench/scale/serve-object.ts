import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GeneratedObject } from './generated-object.ts';

/** A cache that generates the object on demand. */
export interface ObjectServer {
  url: string;
  /** Connections that were cut. */
  cuts(): number;
  close(): void;
}

/** `cutAt`: once this many bytes were sent in total, the current connection is cut, once. */
export async function serveObject(object: GeneratedObject, cutAt = Infinity): Promise<ObjectServer> {
  let [sent, cuts] = [0, 0];
  const server = http.createServer((request, response) => {
    const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const [start, end] = [Number(from), to === '' ? object.size : Math.min(object.size, Number(to) + 1)];
    response.writeHead(request.headers.range === undefined ? 200 : 206, {
      'Content-Length': end - start,
      'Content-Range': `bytes ${start}-${end - 1}/${object.size}`,
      'Accept-Ranges': 'bytes',
      ETag: '"generated"',
      Age: '1',
    });
    if (request.method === 'HEAD') response.end();
    else void send(start, end, response);
  });
  const send = async (start: number, end: number, response: http.ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    for (const piece of object.bytes(start, end)) {
      sent += piece.length;
      if (sent > cutAt && cuts === 0) {
        cuts += 1;
        response.destroy();
      }
      if (gone.signal.aborted || response.destroyed) return;
      if (!response.write(piece))
        await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
    }
    response.end();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
