import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { makeTinyImage } from '../condor/make-image.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const manifestType = 'application/vnd.oci.image.manifest.v1+json';

/** A registry without TLS, with a small image under the tags `1` and `latest`. */
export async function imageRegistry(t: TestContext) {
  const image = path.join(await temporaryFolder(t), 'image');
  await makeTinyImage(image);
  const blobs = new Map<string, Buffer>();
  const digestOf = (blob: Buffer): string => `sha256:${createHash('sha256').update(blob).digest('hex')}`;
  const kept = (blob: Buffer, type: string) => {
    const digest = digestOf(blob);
    blobs.set(digest, blob);
    return { mediaType: `application/vnd.oci.image.${type}`, digest, size: blob.length };
  };
  const manifests = new Map<string, Buffer>();
  /** Publishes the image as it is now, and returns its digest. */
  const push = async (...tags: string[]): Promise<string> => {
    const pack = { encoding: 'buffer', maxBuffer: 2 ** 28 } as const;
    const { stdout: layer } = await promisify(execFile)('tar', ['-C', image, '-c', '.'], pack);
    const config = {
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
    };
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: manifestType,
        config: kept(Buffer.from(JSON.stringify(config)), 'config.v1+json'),
        layers: [kept(gzipSync(layer), 'layer.v1.tar+gzip')],
      }),
    );
    for (const name of [...tags, digestOf(manifest)]) manifests.set(name, manifest);
    return digestOf(manifest);
  };
  const digest = await push('1', 'latest');
  const server = http.createServer(({ url = '', method }, response) => {
    const last = path.posix.basename(url);
    const manifest = url.includes('/manifests/') ? manifests.get(last) : undefined;
    const body = url === '/v2/' ? Buffer.from('{}') : (manifest ?? blobs.get(last));
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': manifest === undefined ? 'application/octet-stream' : manifestType,
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
  return {
    /** The image's name, without `docker://` and tag. */
    name: `127.0.0.1:${(server.address() as AddressInfo).port}/updraft/small`,
    digest,
    /** Publishes another image as `latest`; its file `made-by-test` says so. */
    moveLatest: async (): Promise<void> => {
      await writeFile(path.join(image, 'made-by-test'), 'moved\n');
      await push('latest');
    },
  };
}
