import { once } from 'node:events';
import net from 'node:net';

export interface StallingProxy {
  url: string;
  /** Resets the count: bytes flow again until the limit is reached. */
  reset(): void;
  close(): void;
}

/** A proxy that stops forwarding on all connections after this many bytes, and keeps them open. */
export async function stallingProxy(
  host: string,
  upstreamUrl: string,
  after: number,
): Promise<StallingProxy> {
  const upstream = new URL(upstreamUrl);
  let carried = 0;
  const open = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const source = net.connect({ host: upstream.hostname, port: Number(upstream.port) });
    for (const socket of [client, source]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        (socket === client ? source : client).destroy();
      });
    }
    client.pipe(source);
    source.on('data', (chunk) => {
      if (carried >= after) return;
      carried += chunk.length;
      if (client.write(chunk)) return;
      source.pause();
      client.once('drain', () => source.resume());
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${(server.address() as net.AddressInfo).port}`,
    reset: () => void (carried = 0),
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
