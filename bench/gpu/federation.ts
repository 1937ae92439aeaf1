import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { wantDigest } from '@updraft/pelican/testing';
import type { Dataset } from './datasets.ts';

interface Served {
  discoveryHost: string;
  caFile: string;
  caches: string[];
}

/** A federation in another process than the training. */
export interface Federation extends AsyncDisposable {
  /** The variables of a worker that uses it. */
  env: Record<string, string>;
  /** Fills the caches with a dataset, so that only they serve it. */
  warm(dataset: Dataset): Promise<void>;
}

/** Serves the datasets from this many caches, each limited to `rate` (such as `100MB/s`). */
export async function serve(
  datasets: Dataset[],
  options: { folder: string; caches: string; rate: string },
): Promise<Federation> {
  const here = import.meta.filename;
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const published = datasets.flatMap((one) =>
    one.prefixes.flatMap((prefix) => ['--publish', `${prefix}=${one.published}`]),
  );
  const program = path.join(path.dirname(here), `serve${path.extname(here)}`);
  const child = spawn(process.execPath, [program, ...words, ...published], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { discoveryHost, caFile, caches } = JSON.parse(line) as Served;
  return {
    env: { UPDRAFT_OSDF_HOST: discoveryHost, SSL_CERT_FILE: caFile },
    async warm({ prefixes, objects }) {
      const paths = prefixes.flatMap((prefix) => objects.map((object) => `${prefix}/${object}`));
      await Promise.all(caches.flatMap((cache) => paths.map((object) => fill(cache + object))));
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** Requests the first byte, which makes the cache fetch all others, and the digest. */
async function fill(url: string): Promise<void> {
  await (await fetch(url, { headers: { Range: 'bytes=0-0' } })).arrayBuffer();
  await fetch(url, { method: 'HEAD', headers: { 'Want-Digest': wantDigest } });
  const onlyIfCached = { method: 'HEAD', headers: { 'Cache-Control': 'only-if-cached' } };
  while (!(await fetch(url, onlyIfCached)).ok) await new Promise((resolve) => setTimeout(resolve, 500));
}
