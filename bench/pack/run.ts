import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { findProgram, formatSize } from '@updraft/base';
import { interleave, median, type Variant } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';
import { type Archive, installArchive, makeArchive, type PackedEnvironment } from './make-archive.ts';
import { orderIn, readyIn, resultsIn, writeOrder } from './one-attempt.ts';
import { agent, jobFile, type OnPool, proveResult, runOnPool } from './on-pool.ts';

/**
 * `node bench/pack/run.ts [--packages 112] [--files 480] [--libraries 9] [--megabytes 560] [--rounds 3] [--rattler FOLDER]
 * [--no-pool] [--no-peers]`
 */
const { values } = parseArgs({
  options: {
    packages: { type: 'string', default: '112' },
    files: { type: 'string', default: '480' },
    libraries: { type: 'string', default: '9' },
    megabytes: { type: 'string', default: '560' },
    rounds: { type: 'string', default: '3' },
    rattler: { type: 'string' },
    'no-pool': { type: 'boolean', default: false },
    'no-peers': { type: 'boolean', default: false },
  },
});
const isAgent = (name: string): boolean => name.startsWith('Updraft');
/** The agent continues after its environment is ready: it trains, returns results and cleans up. */
const readySeconds = new Map<string, number[]>();
const folderOf = (name: string): string =>
  name === 'Updraft, installed' ? path.join(folder, 'installed') : folder;
const load = (): string => os.loadavg()[0]?.toFixed(0) ?? '';

/** Only extracts the packages of an archive: no verification, no path replacement, no records. */
const floor = `set -e -o pipefail
  mkdir "$2/packages" "$2/env"
  tar -xf "$1" -C "$2/packages"
  for package in "$2"/packages/channel/*/*.conda; do
    unzip -p "$package" 'pkg-*.tar.zst' | zstd -dc | tar -x --no-same-owner -C "$2/env"
  done
  rm -r "$2/packages"`;

/** What a job's own script would do. */
const byHand = `set -e; cd "$2"; bash "$1"; . ./activate.sh; packed > said.txt`;

/** The name and program of pixi-unpack, or else of the library it is built on. */
async function unpackProgram(): Promise<[string, Buffer]> {
  const found = await findProgram(['pixi-unpack'], process.env);
  if (found !== undefined) return ['pixi-unpack', readFileSync(found)];
  if (values.rattler === undefined)
    throw new Error(
      'pixi-unpack is not on the PATH; install it, or its library: pip install --target FOLDER py-rattler, then --rattler FOLDER',
    );
  const script = path.join(import.meta.dirname, 'rattler_unpack.py');
  const rattler = path.resolve(values.rattler);
  const text = `#!/bin/sh\nPYTHONPATH='${rattler}' exec /usr/bin/python3 '${script}' "$@"\n`;
  return ['rattler (py-rattler)', Buffer.from(text)];
}

const work = scratchFolder('disk');
const folder = path.join(work, 'run');
const [unpackerName, program] = await unpackProgram();
const unpacker = path.join(work, 'pixi-unpack');
writeFileSync(unpacker, program, { mode: 0o755 });
mkdirSync(path.join(work, 'packed'));
const recipe = {
  packages: Number(values.packages),
  filesInEach: Number(values.files),
  libraries: Number(values.libraries),
  megabytesInEach: Number(values.megabytes),
};
const packed = makeArchive(path.join(work, 'packed'), recipe, program);
const { files, unpackedBytes, packedBytes, executable } = packed;
const installed = await installArchive(path.join(work, 'packed'), packed.tar, unpacker);
console.log(
  `### ${files} files, ${formatSize(unpackedBytes)} in packages of ${formatSize(packedBytes)}, as text ${formatSize(executable.bytes)}, installed ${formatSize(installed.bytes)}; unpacked by ${unpackerName}; load ${load()}\n`,
);
if (!values['no-pool'])
  for (const archive of [executable, installed])
    console.log(`${poolTable(archive, await runOnPool(work, packed, archive), packed)}\n`);
if (!values['no-peers']) {
  const costs = await interleave(variants(), { rounds: Number(values.rounds), prepare: freshFolder, prove });
  const medians = [...costs].map(([name, runs]) => {
    const wall = median(runs.map((one) => one.wall));
    const cpu = median(runs.map((one) => one.cpu));
    return { name, wall, cpu, ready: isAgent(name) ? median(readySeconds.get(name) ?? []) : wall };
  });
  const base = medians[0];
  const rows = medians.map(({ name, ready, wall, cpu }) => [
    name,
    ready.toFixed(0),
    (ready / (base?.ready ?? NaN)).toFixed(2),
    wall.toFixed(0),
    cpu.toFixed(0),
    (cpu / (base?.cpu ?? NaN)).toFixed(2),
  ]);
  const head = ['', 'ready after s', '× floor', 'ended after s', 'CPU s', '× floor'];
  console.log(`${markdownTable(head, rows)}\n\nmedian of ${values.rounds}, load ${load()} at the end`);
}

function variants(): Variant[] {
  const env = { ...process.env, TMPDIR: folder, HOME: folder };
  return [
    {
      name: 'tar, unzip, zstd: the floor',
      command: ['bash', '-c', floor, 'bash', packed.tar, folder],
      env,
    },
    { name: `${unpackerName} alone, of the tar`, command: [unpacker, '-o', folder, packed.tar], env },
    {
      name: `\`bash environment.sh\`, ${unpackerName} inside`,
      command: ['bash', '-c', byHand, 'bash', executable.file, folder],
      env,
    },
    { name: `Updraft's agent, ${unpackerName} inside`, command: [agent, 'run', orderIn(folder)], env },
    { name: 'Updraft, installed', command: [agent, 'run', orderIn(path.join(folder, 'installed'))], env },
  ];
}

/** Moves the last tree aside, because removing it would slow down the next run; removes older ones. */
async function freshFolder(): Promise<void> {
  const old = path.join(work, 'old');
  rmSync(old, { recursive: true, force: true });
  if (existsSync(folder)) renameSync(folder, old);
  mkdirSync(folder);
  for (const [archive, place] of [
    [executable, folder],
    [installed, path.join(folder, 'installed')],
  ] as const) {
    mkdirSync(place, { recursive: true });
    writeFileSync(path.join(place, 'updraft.toml'), jobFile('local', '', archive));
    linkSync(archive.file, path.join(place, path.basename(archive.file)));
    await writeOrder(place);
  }
}

function prove({ name }: Variant): void {
  if (isAgent(name)) {
    proveResult(resultsIn(folderOf(name)), packed);
    readySeconds.set(name, [...(readySeconds.get(name) ?? []), readyIn(folderOf(name))]);
  } else if (!existsSync(path.join(folder, 'env/bin/packed'))) throw new Error(`${name} left no environment`);
}

function poolTable({ file }: Archive, found: OnPool, { packedBytes: bytes }: PackedEnvironment): string {
  const rows = [
    ['fetched from two caches, taken apart', `${found.fetchSeconds.toFixed(0)} s`],
    ['unpacked and activated', `${found.unpackSeconds.toFixed(0)} s`],
    [
      'peak disk of the job',
      `${formatSize(found.peakBytes)}, ${(found.peakBytes / bytes).toFixed(2)} × packages`,
    ],
    ['disk asked for', `${formatSize(found.askedBytes)}: ${found.askedWhy}`],
    ['peak memory in MB, of those asked for', found.memory],
  ];
  return markdownTable([`${path.basename(file)} on a real HTCondor, load ${load()}`, ''], rows);
}
