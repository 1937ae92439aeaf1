import type { Command } from 'commander';
import { printable, findProgram } from '@updraft/base';
import type { Fact } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { type NextCommand, printPage } from '../text/phrases.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findPython } from '../../environment/find-python.ts';
import { asFault, Fault } from '@updraft/account/fault';
import {
  createLocator,
  createTokenFiles,
  parseObjectUrl,
  readClaims,
  tokenLocations,
} from '@updraft/pelican/federation';
import { pools } from '../../job/choices.ts';
import { poolTraits, type PoolTraits } from '../../job/pool-traits.ts';
import { openPool } from '../../pool/open-pool.ts';
import { findAgent } from '../../pool/find-agent.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, undefined, [
    'updraft doctor         # agent, PyTorch, HTCondor, OSDF, token …',
    'updraft doctor --json  # the same for a program',
  ])
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const findings = await examine(cli);
      const page = [{ facts: doctorFacts(findings), indent: '' }] as const;
      const next: NextCommand[] = [
        ['updraft check', 'find what would fail in your job'],
        findings.some(({ name, ok }) => name === 'HTCondor' && !ok) && [
          'updraft mini pool up',
          'start a real HTCondor on this machine',
        ],
        ['updraft demo', 'train CIFAR-10 here, end to end'],
      ];
      printPage(cli, page, next, json && { version: cli.version, findings });
    });
}

/** What each probe found, and how to fix it. */
const doctorFacts = (findings: readonly DoctorFinding[]): Fact[] =>
  findings.map(({ name, ok, said, fix }) => [
    `${ok ? 'ok ' : '-  '} ${name}`,
    printable(said),
    ...(fix === undefined ? [] : [printable(fix)]),
  ]);

/** What one probe found. */
interface DoctorFinding {
  name: string;
  ok: boolean;
  said: string;
  fix?: string;
}

/** So that a host that does not answer does not delay the rest. */
const timeoutMs = 15_000;

type Probe = (cli: Cli, signal: AbortSignal) => Promise<string>;

/** Everything a run may need on this machine, in the order in which it needs it. */
const probes: Record<string, Probe> = {
  ...poolProbes((traits) => traits.runsHere),
  agent: async ({ env, self }) => (await findAgent({ env, self })).file,
  PyTorch: probeTorch,
  Apptainer: (cli) =>
    probeProgram(cli, ['apptainer', 'singularity'], 'jobs with an `image` cannot run on this machine'),
  Pixi: (cli) => probeProgram(cli, ['pixi'], 'environments can be read, but not locked here'),
  'pixi-pack': (cli) => probeProgram(cli, ['pixi-pack'], 'environments cannot be packed here'),
  ...poolProbes((traits) => !traits.runsHere),
  OSDF: probeFederation,
  token: probeToken,
};

/** Runs all probes in parallel; something missing is a finding, never a failure. */
export async function examine(cli: Cli): Promise<DoctorFinding[]> {
  const signal = AbortSignal.any([cli.signal, AbortSignal.timeout(timeoutMs)]);
  const findings = await Promise.all(
    Object.entries(probes).map(async ([name, probe]): Promise<DoctorFinding> => {
      try {
        return { name, ok: true, said: await probe(cli, signal) };
      } catch (error) {
        const { message, fix } = asFault(error);
        const said = signal.aborted ? `no answer within ${timeoutMs / 1000} s` : message;
        return { name, ok: false, said, ...(fix === undefined ? {} : { fix }) };
      }
    }),
  );
  cli.signal.throwIfAborted();
  return findings;
}

/** Each pool by its title; the local pool is the machine. */
function poolProbes(which: (traits: PoolTraits) => boolean): Record<string, Probe> {
  const names = pools.filter((name) => which(poolTraits[name]));
  const titled = names.map((name): [string, Probe] => [
    poolTraits[name].runsHere ? 'machine' : poolTraits[name].title,
    (cli) => openPool(name, cli).examine(cli.cwd),
  ]);
  return Object.fromEntries(titled);
}

async function probeTorch({ env }: Cli, signal: AbortSignal): Promise<string> {
  const { found, tried } = await findPython(['torch'], env, { signal });
  if (found !== undefined) return found;
  const asked = tried.map(({ path, lacks }) => `${path} lacks ${lacks}`).join('; ');
  throw new Fault('environment-broken', asked === '' ? 'there is no python3' : asked, {
    fix:
      'needed only for jobs on this machine without an image: apt-get install python3-torch, ' +
      'or python3 -m pip install torch',
  });
}

async function probeProgram({ env }: Cli, names: string[], without: string): Promise<string> {
  const file = await findProgram(names, env);
  if (file === undefined)
    throw new Fault('environment-broken', `${names.join(' or ')} is not on the PATH: ${without}`);
  const { stdout } = await promisify(execFile)(file, ['--version'], { env: { ...env }, timeout: timeoutMs });
  return `${stdout.trim().split('\n')[0] ?? ''} (${file})`;
}

async function probeFederation({ env, cwd, uid, clock, version }: Cli, signal: AbortSignal): Promise<string> {
  const url = parseObjectUrl('osdf:///any', env);
  const host = url.kind === 'federated' ? url.discoveryHost : '';
  const { directorUrl } = await createLocator({ env, cwd, uid, clock, version }).discover(host, signal);
  return directorUrl === undefined
    ? `${host} serves the objects directly`
    : `director ${directorUrl}, from ${host}`;
}

/** Says where a token is and how long it lasts; never the token. */
async function probeToken({ env, cwd, uid, clock }: Cli): Promise<string> {
  const files = createTokenFiles();
  for (const place of await tokenLocations({ env, cwd, uid }, {})) {
    const read = 'token' in place ? place : await files.read(place, uid);
    if (!('token' in read)) continue;
    const where = 'token' in place ? place.name : place.file;
    const expires = readClaims(read.token)?.expires;
    if (expires === undefined) return `${where}, without an expiry time`;
    const hours = (expires - clock.now()) / 3_600_000;
    if (hours > 0) return `${where}, valid for ${hours.toFixed(1)} hours`;
    throw new Fault('token-expired', `${where} has expired`, {
      fix: 'get a new one: updraft login osdf:///PATH',
    });
  }
  throw new Fault('token-missing', 'none found: only public objects can be read, and none uploaded', {
    fix: 'for protected data run `updraft login osdf:///PATH`, or set BEARER_TOKEN_FILE to a token file',
  });
}
