import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { findPython } from '../../src/environment/find-python.ts';
import { type MiniFederation, startFederation } from '@updraft/mini/federation';
import { temporaryFolder } from '../temporary-folder.ts';
import { hangMs } from '../hang-limit.ts';

const example = path.resolve(import.meta.dirname, '../../examples/cifar10');

/** The environment for a test's federation. */
export const federationEnv = (federation: MiniFederation) => ({
  UPDRAFT_OSDF_HOST: federation.discoveryHost,
  SSL_CERT_FILE: federation.caFile,
});

/**
 * A tiny CIFAR-10 in the real file format, published by a federation and a plain web server. Skips the test and returns
 * undefined if it cannot be made.
 */
export async function publishedCifar(t: TestContext) {
  const { found } = await findPython(['numpy'], process.env, { signal: AbortSignal.timeout(hangMs) });
  if (found === undefined) {
    t.skip('no Python with numpy on this machine to make the data');
    return undefined;
  }
  const folder = await temporaryFolder(t);
  const archive = path.join(folder, 'cifar-10-python.tar.gz');
  const make = [path.join(example, 'make_data.py'), archive, '--images-per-batch', '40'];
  await promisify(execFile)(found, make);
  const server = http
    .createServer((_, response) => void createReadStream(archive).pipe(response))
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const federation = await startFederation({
    namespaces: [
      { prefix: '/public', folder, public: true },
      { prefix: '/private', folder, public: false },
    ],
  });
  t.after(() => federation[Symbol.asyncDispose]());
  return {
    archive,
    federation,
    web: `http://127.0.0.1:${(server.address() as AddressInfo).port}/web.tar.gz`,
    object: 'osdf:///public/cifar-10-python.tar.gz',
    env: federationEnv(federation),
    script: path.join(example, 'train.py'),
  };
}
