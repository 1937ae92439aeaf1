import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { testPool } from '../pool.ts';

/** One job as HTCondor would queue it: attribute names in lower case, values as ClassAd text. */
type JobAd = Record<string, string>;

export interface DryRun {
  ads: JobAd[];
  /** Warnings and errors of `condor_submit`. */
  said: string;
  status: number;
}

export interface CondorSubmit {
  /** Runs `condor_submit FILE -dry-run -` in a folder. */
  dryRun(folder: string, file: string): DryRun;
  /** What DAGMan says of a DAG that it refuses; undefined for one whose nodes it would submit. */
  refusal(folder: string, dag: string): string | undefined;
  /** The values of ClassAd expressions. */
  evaluate(expressions: string[]): string[];
}

/** Independent of any pool, with several queue statements allowed and a fixed home. */
const settings = ['HOME=/home/tester', 'CONDOR_CONFIG=ONLY_ENV', '_CONDOR_SUBMIT_PREVENT_MULTI_QUEUE=false'];

/** The real `condor_submit` of this machine or of the mini pool's root folder; skips the test where there is neither. */
export async function realCondorSubmit(t: TestContext): Promise<CondorSubmit | undefined> {
  const own = onPath('condor_submit');
  const root = own === undefined ? (await testPool(t))?.root : undefined;
  if (own === undefined && root === undefined) return undefined;
  const run = (folder: string, command: string[]) => {
    const inside = ['env', ...settings, ...command];
    const args =
      root === undefined
        ? inside
        : [
            'unshare',
            '--user',
            '--map-root-user',
            '--mount',
            'sh',
            '-c',
            enter,
            'sh',
            root,
            folder,
            ...inside,
          ];
    const [program = '', ...rest] = args;
    const { status, stdout, stderr, error } = spawnSync(program, rest, { cwd: folder, encoding: 'utf8' });
    if (error !== undefined) throw error;
    return { status: status ?? 1, stdout, stderr };
  };
  return {
    dryRun(folder, file) {
      const { status, stdout, stderr } = run(folder, ['condor_submit', file, '-dry-run', '-']);
      return { ads: readAds(stdout), said: stderr, status };
    },
    refusal(folder, dag) {
      const places = ['LOG', 'LOCAL_DIR'].map((name) => `_CONDOR_${name}=${folder}`);
      const log = path.join(folder, `${dag}.dagman.out`);
      const from = [`_CONDOR_DAGMAN_LOG=${log}`, '_CONDOR_DAGMAN_USE_STRICT=0', ...places];
      const flags = ['-Lockfile', `${dag}.lock`, '-DryRun', '-Suppress_notification'];
      const version = ['-AllowVersionMismatch', '-CsdVersion', '$CondorVersion: 25.0.0 2025-01-01 $'];
      const command = ['env', ...from, 'condor_dagman', '-p', '0', '-f', '-l', '.', ...flags, ...version];
      run(folder, [...command, '-Dag', dag]);
      const said = readFileSync(log, 'utf8');
      if (/^.{18}Bootstrapping/m.test(said)) return undefined;
      assert.match(said, /Failed to parse/, said);
      return [...said.matchAll(/^.{18}(ERROR: .*|Processing error .*)/gm)].map(([, line]) => line).join('\n');
    },
    evaluate: (expressions) =>
      run(os.tmpdir(), ['classad_eval', ...expressions])
        .stdout.split('\n')
        .filter((line) => line.startsWith('{')),
  };
}

/**
 * The root folder shares only the machine's temporary folder. Ordinary users of Debian
 * do not have chroot on their PATH.
 */
const enter = `set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
root=$1 folder=$2; shift 2
mount --rbind /tmp "$root/tmp"
exec chroot "$root" sh -c 'cd "$1"; shift; exec "$@"' sh "$folder" "$@"`;

function onPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(':')
    .map((folder) => path.join(folder, name))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `-dry-run` prints the first job in full and of the others what differs, each ended by a line with a dot. */
function readAds(text: string): JobAd[] {
  const ads: JobAd[] = [];
  for (const block of text.split(/^\.$/m).slice(0, -1)) {
    const pairs = block.matchAll(/^(\w+)=(.*)$/gm);
    const ad = Object.fromEntries([...pairs].map(([, name = '', value = '']) => [name.toLowerCase(), value]));
    ads.push({ ...ads[0], ...ad });
  }
  return ads;
}
