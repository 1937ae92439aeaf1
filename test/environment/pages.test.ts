import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { startFederation } from '@updraft/mini/federation';
import { shellBlocks } from '../docs/shell-blocks.ts';
import { ExampleHarness } from '../examples/example-harness.ts';
import { needOnPath } from '../on-path.ts';
import { makeConda } from './make-conda.ts';
import { writeChannel } from './make-channel.ts';
import { here, torchPackages } from './torch-packages.ts';

/** Serves a channel of stand-ins by http; returns its URL. */
async function serveChannel(t: TestContext, folder: string): Promise<string> {
  const numpy = makeConda('numpy', '2.4.0', {}, { subdir: here });
  await writeChannel(folder, [...torchPackages('3.13.5', '2.7.1', '12.9'), numpy]);
  const server = http.createServer((request, response) => {
    readFile(path.join(folder, 'channel', path.normalize(request.url ?? '/'))).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The page's commands for Pixi's tools, with its files; jobs are planned, and of an image the recipe is written. */
function commandsOf(markdown: string, isGuide: boolean): string {
  const lines = shellBlocks(markdown).flatMap(({ kind, text }) => {
    if (kind !== 'tools') return isGuide && kind === 'run' ? [text.replaceAll(/^updraft .*\n/gm, '')] : [];
    const done = text.replaceAll(/ --build\b/g, ' --write').replaceAll(/^.*\.sif osdf:.*\n/gm, '');
    return [done.replaceAll(/^updraft (?:check|run|shell)\b/gm, 'updraft plan')];
  });
  return ['set -eux', ...lines].join('\n');
}

for (const [page, name] of [
  ['docs/guides/pixi-container.md', undefined],
  ['docs/guides/pixi-pack.md', undefined],
  ['examples/mnist-pixi/README.md', 'mnist-pixi'],
  ['examples/hello-pytorch-pixi-pack/README.md', 'hello-pytorch-pixi-pack'],
] as const)
  test(`${page}: its commands for Pixi's tools work with the real ones`, async (t) => {
    const [, packer, unpacker] = (await needOnPath(t, 'pixi', 'pixi-pack', 'pixi-unpack')) ?? [];
    if (packer === undefined || unpacker === undefined) return;
    const harness = await ExampleHarness.open(t, name, []);
    if (harness === undefined) return;
    const home = harness.env['HOME'] ?? '';
    // In the place of conda-forge.
    const mirror = `[mirrors]\n"https://conda.anaconda.org/conda-forge" = ["${await serveChannel(t, home)}"]\n`;
    const config = path.join(home, '.pixi/config.toml');
    await mkdir(path.dirname(config), { recursive: true });
    await writeFile(config, mirror);
    // Otherwise pixi-pack asks conda-forge, and downloads the program that goes into the script.
    const given = `--config '${config}' --pixi-unpack-source '${unpacker}'`;
    const script = `#!/bin/sh\nexec '${packer}' ${given} "$@"\n`;
    await writeFile(path.join(home, 'bin/pixi-pack'), script, { mode: 0o755 });
    const folder = path.join(home, 'staging');
    await mkdir(folder);
    const federation = await startFederation({
      namespaces: [{ prefix: '/chtc', folder, public: true, writable: true }],
    });
    t.after(() => federation[Symbol.asyncDispose]());
    const variables = {
      ...harness.env,
      PIXI_CACHE_DIR: path.join(home, 'cache'),
      BEARER_TOKEN: federation.issueToken({ namespace: '/chtc' }),
      UPDRAFT_OSDF_HOST: federation.discoveryHost,
      SSL_CERT_FILE: federation.caFile,
    };
    const text = await readFile(path.join(import.meta.dirname, '../..', page), 'utf8');
    const options = { cwd: harness.folder, env: variables, maxBuffer: 1 << 24 };
    const words = ['-c', commandsOf(text, name === undefined)];
    const { stdout, stderr } = await promisify(execFile)('sh', words, options);
    assert.match(stderr, /\+ updraft env lock\n/);
    assert.match(
      stdout,
      /PyTorch 2\.7\.1, GPU build for CUDA 12\.9|url = "osdf:\/\/\/chtc\/staging\/USER\/envs/,
    );
  });
