import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { makeImage } from '../condor/make-image.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const manifestType = 'application/vnd.oci.image.manifest.v1+json';

/** A registry with one small image, without TLS; returns the image's name, without `docker://`. */
export async function imageRegistry(t: TestContext): Promise<string> {
  const image = path.join(await temporaryFolder(t), 'image');
  await makeImage(image);
  const pack = { encoding: 'buffer', maxBuffer: 2 ** 28 } as const;
  const { stdout: layer } = await promisify(execFile)('tar', ['-C', image, '-c', '.'], pack);
  const blobs = new Map<string, Buffer>();
  const kept = (blob: Buffer, type: string) => {
    const digest = `sha256:${createHash('sha256').update(blob).digest('hex')}`;
    blobs.set(digest, blob);
    return { mediaType: `application/vnd.oci.image.${type}`, digest, size: blob.length };
  };
  const unpacked = createHash('sha256').update(layer).digest('hex');
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: [`sha256:${unpacked}`] },
  };
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      config: kept(Buffer.from(JSON.stringify(config)), 'config.v1+json'),
      layers: [kept(gzipSync(layer), 'layer.v1.tar+gzip')],
    }),
  );
  const server = http.createServer(({ url = '', method }, response) => {
    const last = path.posix.basename(url);
    const body =
      url === '/v2/' ? Buffer.from('{}') : url.includes('/manifests/') ? manifest : blobs.get(last);
    const type = body === manifest ? manifestType : 'application/octet-stream';
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': type,
      'content-length': body?.length ?? 0,
    });
    response.end(method === 'HEAD' ? undefined : body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}/updraft/small:1`;
}
