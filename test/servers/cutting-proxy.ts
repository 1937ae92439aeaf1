import { once } from 'node:events';
import net from 'node:net';
import type { TestContext } from 'node:test';

export interface CuttingProxy {
  /** The server behind it, at the proxy's own address. */
  url: string;
  /** Resets the next connection that has sent this many bytes to the client; only that one. */
  cutOnce(bytes: number): void;
  /** Stalls the next connection that has sent this many bytes to the client. */
  stallOnce(bytes: number): void;
  /** Everything that clients sent. */
  received(): string;
}

/** A proxy that breaks connections as a network does; TLS passes through untouched. */
export async function cuttingProxy(t: TestContext, serverUrl: string): Promise<CuttingProxy> {
  const { hostname, port, protocol } = new URL(serverUrl);
  let [cutAfter, stallAfter] = [Infinity, Infinity];
  const said: Buffer[] = [];
  const open = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect({ host: hostname, port: Number(port) });
    let carried = 0;
    upstream.on('data', (chunk) => {
      carried += chunk.length;
      if (carried > cutAfter) {
        cutAfter = Infinity;
        client.resetAndDestroy();
        upstream.destroy();
      } else if (carried > stallAfter) {
        stallAfter = Infinity;
        upstream.pause();
      } else if (!client.write(chunk)) {
        upstream.pause();
        client.once('drain', () => upstream.resume());
      }
    });
    client.on('data', (chunk) => said.push(chunk));
    client.pipe(upstream);
    upstream.on('end', () => client.end());
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        (socket === client ? upstream : client).destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return {
    url: `${protocol}//127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    cutOnce: (bytes) => void (cutAfter = bytes),
    stallOnce: (bytes) => void (stallAfter = bytes),
    received: () => Buffer.concat(said).toString('latin1'),
  };
}
