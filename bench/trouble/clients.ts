import path from 'node:path';
import type { MiniFederation } from '@updraft/mini/federation';
import type { Variant } from '../interleave.ts';
import { plainEnvironment, program } from '../peers.ts';

const fetchOne = path.join(import.meta.dirname, '..', 'transfer', 'fetch-one.ts');

export interface DownloadTask {
  federation: MiniFederation;
  /** Path of the object in the federation. */
  object: string;
  target: string;
  manifestFile: string;
  sha256: string;
  /** Node's compile cache. */
  compileCache: string;
  /** A file with the token, and one with the request header that contains it. */
  token: { file: string; headerFile: string } | undefined;
}

/** The same download for each client, with as many helpful options as it has. */
export function clients(task: DownloadTask): Variant[] {
  const { federation, object, target, manifestFile, sha256, token, compileCache } = task;
  const { caFile, caches, discoveryHost, discoveryUrl } = federation;
  const urls = caches.map(({ url }) => url + object);
  const env = {
    ...plainEnvironment(compileCache),
    UPDRAFT_OSDF_HOST: discoveryHost,
    SSL_CERT_FILE: caFile,
    ...(token !== undefined && { BEARER_TOKEN_FILE: token.file }),
  };
  const header = (flag: string): string[] => (token === undefined ? [] : [flag]);
  const retry = ['--retry', '5', '--retry-all-errors', '--retry-connrefused'];
  const aria = ['-q', '-s3', '-x3', '-m5', '--retry-wait=1', '--timeout=20', '--file-allocation=none'];
  const wget = ['-q', '-t5', '-T20', `--ca-certificate=${caFile}`];
  const proof = ['--allow-overwrite', `--ca-certificate=${caFile}`, `--checksum=sha-256=${sha256}`];
  return [
    { name: 'Updraft', command: [process.execPath, fetchOne, `osdf://${object}`, target, manifestFile], env },
    {
      name: 'curl --retry 5',
      command: [
        program('curl'),
        '-fsSL',
        '--location-trusted',
        ...retry,
        '--cacert',
        caFile,
        ...(token === undefined ? [] : ['-H', `@${token.headerFile}`]),
        '-o',
        target,
        discoveryUrl + object,
      ],
    },
    {
      name: 'aria2c, three caches, checksum',
      command: [
        program('aria2c', 'aria2'),
        ...aria,
        ...proof,
        ...header(`--conf-path=${token?.headerFile}.aria`),
        '-d',
        '/',
        '-o',
        target,
        ...urls,
      ],
    },
    {
      name: 'wget, one cache, 5 tries',
      command: [
        program('wget'),
        ...wget,
        ...header(`--config=${token?.headerFile}.wget`),
        '-O',
        target,
        urls[0] ?? '',
      ],
    },
  ];
}
