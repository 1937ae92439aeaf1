import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import { readFile } from 'node:fs/promises';
import { attributeOf, parseAds, siteIn } from '@updraft/htcondor/classad';
import type { Fetched, Turn } from '@updraft/pelican/transfer';
import os from 'node:os';
import { defined, type Env } from '@updraft/base';
import { readAd } from '../machine/machine.ts';

export interface TransferArgs {
  kind: 'transfer';
  infile: string;
  outfile: string;
  direction: 'download' | 'upload';
}

const flags = ['-classad', '-infile', '-outfile', '-upload'];
const names = /^(updraft|osdf|stash|pelican|pelican_xfer)_plugin/;

/** Whether HTCondor calls the agent as its plugin: by its arguments or by the program's name. */
export const isPluginCall = (program: string, args: readonly string[]): boolean =>
  names.test(path.basename(program)) || args.some((arg) => flags.includes(arg));

/** Parses the plugin's command line as HTCondor writes it. */
export function parseArgs(args: readonly string[]): TransferArgs | { kind: 'classad' | 'version' } {
  const files: Record<string, string | undefined> = {};
  let direction: TransferArgs['direction'] = 'download';
  const rest = args.values();
  for (const arg of rest) {
    if (arg === '-classad') return { kind: 'classad' };
    if (arg === '-version' || arg === '-v') return { kind: 'version' };
    if (arg === '-upload') direction = 'upload';
    else if (arg === '-infile' || arg === '-outfile') files[arg] = rest.next().value;
    else if (arg !== '-d') throw invalidArgs(`unknown argument ${JSON.stringify(arg)}`);
  }
  const { '-infile': infile, '-outfile': outfile } = files;
  if (infile === undefined || outfile === undefined)
    throw invalidArgs(`${infile === undefined ? '-infile' : '-outfile'} FILE is missing`);
  return { kind: 'transfer', infile, outfile, direction };
}

const invalidArgs = (what: string): Fault =>
  new Fault('usage', `invalid command line of the plugin: ${what}`, {
    fix: 'use -classad, or -infile FILE -outfile FILE [-upload]',
  });

/** One file that HTCondor asks to download or upload. */
export interface TransferRequest {
  url: string;
  /** Absolute, or relative to the job's scratch folder. */
  file: string;
}

/** What HTCondor asks for. Ads without a URL are settings of other plugins and are skipped. */
export async function readRequests(infile: string): Promise<TransferRequest[]> {
  try {
    return parseAds(await readFile(infile, 'utf8')).flatMap((ad) => {
      const [url, file] = [attributeOf(ad, 'Url'), attributeOf(ad, 'LocalFileName')];
      return typeof url === 'string' ? [{ url, file: typeof file === 'string' ? file : '' }] : [];
    });
  } catch (error) {
    throw new Fault('order-invalid', `${infile} cannot be read: ${(error as Error).message}`, {
      about: infile,
      cause: error,
    });
  }
}

/** One server's part in a transfer: what it sent, or how it failed. */
export interface ServerRecord extends Partial<Turn> {
  server: string;
  preferredBy?: string;
  fault?: Fault;
  /** Milliseconds since the epoch. */
  endedAt: number;
}

/** What a transfer did: how much, from or to which servers, and how the bytes were verified. */
export type TransferInfo = Omit<Fetched, 'seconds'>;

/** How one request ended. */
export interface RequestOutcome {
  request: TransferRequest;
  result: TransferInfo | Fault;
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt: number;
  endpoints: ServerRecord[];
  /** Of a collection: how each of its objects ended. */
  parts?: RequestOutcome[];
}

/** HTCondor passes those of a job's variables to a plugin that start with the plugin's name. */
const prefixes = ['UPDRAFT', 'OSDF', 'PELICAN', 'STASH'];
const settings = [
  'SSL_CERT_FILE',
  'X509_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'UPDRAFT_BEARER_TOKEN_FILE',
  'UPDRAFT_OSDF_HOST',
  'UPDRAFT_FEDERATION_HTTP',
  'UPDRAFT_STALL_SECONDS',
  'UPDRAFT_OVERWRITE',
  'UPDRAFT_CACHES',
  'UPDRAFT_AVOID_CACHES',
];

/**
 * The environment in which `UPDRAFT_SSL_CERT_FILE` means `SSL_CERT_FILE`, and, for a plugin called `osdf_plugin`,
 * `OSDF_STALL_SECONDS` means `UPDRAFT_STALL_SECONDS`. The job's settings override the machine's.
 */
export function pluginEnv(env: Env): Env {
  const fromJob = settings.flatMap((name) => {
    const own = name.replace(/^UPDRAFT_/, '');
    const value = prefixes.map((prefix) => env[`${prefix}_${own}`]).find((each) => each !== undefined);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...env, ...Object.fromEntries(fromJob) };
}

/** The machine, as the pool names it. */
export interface Worker {
  host: string;
  site?: string;
}

/** Reads the names from the machine ad, which HTCondor gives to every plugin. */
export function readWorker(env: Env): Worker {
  const file = env['_CONDOR_MACHINE_AD'] ?? '.machine.ad';
  const ad = readAd({ _CONDOR_MACHINE_AD: file }, '_CONDOR_MACHINE_AD');
  const host = ['K8SPhysicalHostName', 'Machine']
    .map((name) => attributeOf(ad, name))
    .find((name) => typeof name === 'string');
  return { host: host ?? os.hostname(), ...defined({ site: siteIn(ad) }) };
}
