import { once } from 'node:events';
import net from 'node:net';

/** The traffic between a cache and its origin. */
export interface Passed {
  bytes: number;
  /** Reads that the cache requested. */
  reads: number;
}

export interface CountingProxy {
  /** `host:port` to name as the origin. */
  address: string;
  /** The traffic since the last call. */
  take(): Passed;
  close(): void;
}

/** kXR_read, kXR_readv and kXR_pgread of XRootD's own protocol. */
const readCodes = new Set([3013, 3025, 3030]);

/** A proxy between a cache and an XRootD origin that counts. */
export async function countingProxy(origin: string): Promise<CountingProxy> {
  const [host = '', port = ''] = origin.split(':');
  let passed: Passed = { bytes: 0, reads: 0 };
  const open = new Set<net.Socket>();
  const server = net.createServer((cache) => {
    const source = net.connect({ host, port: Number(port) });
    const count = requestCounter((code) => {
      if (readCodes.has(code)) passed.reads++;
    });
    cache.on('data', count);
    source.on('data', (chunk) => (passed.bytes += chunk.length));
    cache.pipe(source).pipe(cache);
    for (const socket of [cache, source]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        (socket === cache ? source : cache).destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    take() {
      const taken = passed;
      passed = { bytes: 0, reads: 0 };
      return taken;
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** Finds the requests in a stream: 20 bytes of greeting, then heads of 24 bytes, each with the length that follows. */
function requestCounter(found: (code: number) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let skip = 20;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const skipped = Math.min(skip, rest.length);
      rest = rest.subarray(skipped);
      skip -= skipped;
      if (skip > 0 || rest.length < 24) return;
      found(rest.readUInt16BE(2));
      skip = 24 + rest.readUInt32BE(20);
    }
  };
}
