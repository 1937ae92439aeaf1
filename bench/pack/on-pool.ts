import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@updraft/base';
import type { Plan } from '../../src/job/plan.ts';
import { startFederation } from '@updraft/mini/federation';
import { poolFolders } from '@updraft/mini/testing';
import { rootFolder, sites, startPool, stopPool } from '@updraft/mini/pool';
import { cacheFolder } from '../osg/replay-pool.ts';
import type { Archive, PackedEnvironment } from './make-archive.ts';

const root = path.resolve(import.meta.dirname, '../..');
const main = path.join(root, 'src/cli/main.ts');
export const agent = path.join(root, `dist/updraft-agent-linux-${process.arch}`);

/** The training: it prints facts about its environment. */
const command = 'packed > said.txt && find "$CONDA_PREFIX" -type f | wc -l >> said.txt';

export const jobFile = (pool: string, folder: string, { file, sha256, bytes }: Archive): string => `
name = "packed"
[train]
command = ${JSON.stringify(command)}
outputs = ["said.txt"]
[environment.pack]
url = "${folder}${path.basename(file)}"
sha256 = "${sha256}"
bytes = ${bytes}
[resources]
disk = "auto"
[run]
pool = "${pool}"
attempts = 1
`;

/** Throws unless the job found the environment as packed. */
export function proveResult(results: string, { files }: PackedEnvironment): void {
  const [said = '', found] = readFileSync(path.join(results, 'said.txt'), 'utf8').split('\n');
  // Besides the packages' files there is a record for each package.
  if (!/^packed in \/.*, yes$/.test(said) || Number(found) < files)
    throw new Error(`the job found ${found ?? 'no'} files, and said: ${said}`);
}

export interface OnPool {
  fetchSeconds: number;
  unpackSeconds: number;
  peakBytes: number;
  askedBytes: number;
  askedWhy: string;
  memory: string;
}

/** Runs one job on a real HTCondor, with the archive from a federation, and measures its disk every two seconds. */
export async function runOnPool(
  folder: string,
  packed: PackedEnvironment,
  archive: Archive,
): Promise<OnPool> {
  const signal = AbortSignal.timeout(45 * 60_000);
  const home = path.join(folder, 'pool');
  const project = path.join(folder, 'project');
  for (const one of [home, project]) mkdirSync(one);
  const site = sites.slice(0, 1).map((one) => ({ ...one, cpus: 2, memoryMegabytes: 8000 }));
  const context = {
    clock: systemClock,
    kill: (pid: number, name: NodeJS.Signals): void => void process.kill(pid, name),
  };
  const rootIn = await rootFolder({ cacheFolder, say: () => undefined, signal });
  await using federation = await startFederation({
    namespaces: [{ prefix: '/envs', folder: path.dirname(archive.file), public: true }],
  });
  const state = await startPool({ root: rootIn, home, sites: site, signal, config: [], ...context });
  let peakBytes = 0;
  const sample = setInterval(() => {
    const said = spawnSync('du', ['-s', '--block-size=1', poolFolders(home).execute], { encoding: 'utf8' });
    peakBytes = Math.max(peakBytes, Number(said.stdout.split('\t')[0]));
  }, 2000);
  try {
    writeFileSync(path.join(project, 'updraft.toml'), jobFile('condor', 'osdf:///envs/', archive));
    const env = {
      ...process.env,
      PATH: `${state.bin}:${process.env['PATH'] ?? ''}`,
      HOME: project,
      UPDRAFT_AGENT: agent,
      UPDRAFT_OSDF_HOST: federation.discoveryHost,
      SSL_CERT_FILE: federation.caFile,
    };
    const words = [main, 'run'];
    await promisify(execFile)(process.execPath, words, { cwd: project, env, signal, maxBuffer: 1 << 26 });
    const runs = path.join(project, 'runs');
    const run = path.join(runs, readdirSync(runs).find((one) => one.startsWith('packed-')) ?? '');
    proveResult(path.join(run, 'results/0000'), packed);
    const { stdout } = await promisify(execFile)(
      path.join(state.bin, 'condor_history'),
      ['-limit', '1', '-af', 'MemoryUsage', 'RequestMemory'],
      { env },
    );
    return { ...figures(run), peakBytes, memory: stdout.trim().replace(' ', ' of ') };
  } finally {
    clearInterval(sample);
    await stopPool(state, context);
  }
}

function figures(run: string): Omit<OnPool, 'peakBytes' | 'memory'> {
  const text = readFileSync(path.join(run, 'jobs/0000/attempt-1/agent.jsonl'), 'utf8');
  const entries = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { t: string; kind: string; phase?: string });
  const at = (kind: string, phase?: string): number =>
    Date.parse(entries.find((one) => one.kind === kind && one.phase === phase)?.t ?? '') / 1000;
  const { disk } = JSON.parse(readFileSync(path.join(run, 'plan.json'), 'utf8')) as Plan;
  return {
    fetchSeconds: at('phase', 'unpacking') - at('agent-started'),
    unpackSeconds: at('environment-ready') - at('phase', 'unpacking'),
    askedBytes: disk.bytes,
    askedWhy: disk.why,
  };
}
