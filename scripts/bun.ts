import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import { openUnpacker } from '@updraft/archive';

export const bunVersion = '1.4.4';

/**
 * The architectures an agent can be built for, by Node's names, with the digests of the package and of the program in
 * it. `baseline` does not need AVX2 on the worker.
 */
const packages = {
  x64: {
    name: '@oven/bun-linux-x64-baseline',
    integrity:
      'sha512-FBU6T21NT+i+rESbi0Z8A8G5xN51c+WZ0v6pIjI6szSzOlqVNv64nf7FPnwNIyxKD1M7Wg5cEobLC/QbzCeLtA==',
    program:
      'sha512-HziVYBPud+TUBTM2R8IQQKDsu8z501X9G7Mys+2GOetEGMDLCleGUBtKEL6gNd4QJnvs0pBLNiWL5jNbZ9eZrw==',
  },
  arm64: {
    name: '@oven/bun-linux-aarch64',
    integrity:
      'sha512-ZTVtpf9zmHSBVPX1sBwe5agGb/rN34yPGg/Hby8e2Ax2uCUA2URZKlZH7qLntK7qaFJCMXh9v0GWNYN2zINz1w==',
    program:
      'sha512-ow3N6A2/WJAraSqfZn1hgTWExTTEkkwQ9C8cdtrno7Kr/8Ed1uk4Mj5tU/jacMmJpvxu4wjOElbmbkAUWLKPtA==',
  },
} as const;

export type Arch = keyof typeof packages;
export const archs = Object.keys(packages) as Arch[];

const cacheFolder = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache'), 'updraft');

const checked = new Map<Arch, Promise<string>>();

/** The path of the pinned Bun for an architecture, after checking its digest: once, because it has 100 MB. */
export function bunFor(arch: Arch): Promise<string> {
  const path = checked.get(arch) ?? readBun(arch).then(() => fileOf(arch));
  checked.set(arch, path);
  return path;
}

const fileOf = (arch: Arch): string => path.join(cacheFolder, `bun-${bunVersion}-linux-${arch}`);

/** The pinned Bun, checked each time; fetched with npm if it is missing or modified. */
export async function readBun(arch: Arch): Promise<Buffer> {
  const { name, program } = packages[arch];
  const kept = existsSync(fileOf(arch)) ? readFileSync(fileOf(arch)) : undefined;
  if (kept !== undefined && integrityOf(kept) === program) return kept;
  if (kept !== undefined) console.error(`${fileOf(arch)} is not Bun ${bunVersion} as published`);
  await fetchBun(arch);
  const fetched = readFileSync(fileOf(arch));
  check(name, fetched, program);
  return fetched;
}

async function fetchBun(arch: Arch): Promise<void> {
  mkdirSync(cacheFolder, { recursive: true });
  const draft = mkdtempSync(path.join(cacheFolder, '.fetching-'));
  try {
    const packed = npmPack(arch, draft);
    check(packages[arch].name, packed, packages[arch].integrity);
    const unpacker = openUnpacker({
      name: packages[arch].name,
      mode: 'tar.gz',
      into: path.join(draft, 'out'),
    });
    await unpacker.write(packed);
    await unpacker.finish();
    const program = readFileSync(path.join(draft, 'out', 'package', 'bin', 'bun'));
    writeFileSync(path.join(draft, 'bun'), program, { mode: 0o755 });
    renameSync(path.join(draft, 'bun'), fileOf(arch));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function npmPack(arch: Arch, into: string): Buffer {
  const wanted = `${packages[arch].name}@${bunVersion}`;
  console.error(`fetching ${wanted} (once) ...`);
  const npm = process.env['npm_execpath'];
  const [command = 'npm', ...words] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const args = [...words, 'pack', wanted, '--silent', '--ignore-scripts', '--pack-destination', into];
  const done = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  if (done.error !== undefined || done.status !== 0)
    throw new Fault(
      'self-test-failed',
      `npm could not fetch ${wanted}: ${done.error?.message ?? lastLine(done.stderr)}`,
      {
        fix: `make sure that \`npm view ${wanted} version\` works, then try again: Bun is fetched once`,
      },
    );
  return readFileSync(path.join(into, done.stdout.trim().split('\n').at(-1) ?? ''));
}

const integrityOf = (bytes: Buffer): string =>
  `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

function check(name: string, bytes: Buffer, integrity: string): void {
  const found = integrityOf(bytes);
  if (found === integrity) return;
  throw new Fault(
    'data-corrupt',
    `${name}@${bunVersion} is not what was published: ${found}, not ${integrity}`,
    {
      fix: 'ask the operator of your npm mirror; nothing was kept',
    },
  );
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
