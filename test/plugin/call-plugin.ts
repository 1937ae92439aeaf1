import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Ad, type AdValue, attributeOf, formatAd, parseAds } from '@updraft/htcondor/classad';
import type { MiniFederation } from '@updraft/mini/federation';
import { compileCache } from '../compile-cache.ts';
import { agentMain, oneFile } from '../programs.ts';

const named = process.env['UPDRAFT_AGENT'];
/** The agent from source, the executable that `UPDRAFT_AGENT` names, or the program that ships. */
const program = named ?? oneFile ?? process.execPath;
const first = named !== undefined ? [] : oneFile === undefined ? [agentMain] : ['updraft-agent'];

export interface Result {
  exit: number | null;
  stdout: string;
  stderr: string;
  ads: Ad[];
}

interface Call {
  folder: string;
  federation?: Pick<MiniFederation, 'discoveryHost' | 'caFile'>;
  requests?: { url: string; file: string; more?: Record<string, AdValue> }[];
  upload?: boolean;
  env?: Record<string, string>;
  /** Called once the requests are written. */
  beforeStart?: () => void;
  /** Called with the process id once the plugin runs. */
  started?: (pid: number) => void;
}

/** Calls the plugin as HTCondor's starter does: in a clean environment, with a pre-filled outfile. */
export async function callPlugin({
  folder,
  federation,
  requests,
  upload,
  env,
  ...hooks
}: Call): Promise<Result> {
  const [infile, outfile] = ['in', 'out'].map((end) => path.join(folder, `.updraft_plugin.${end}`)) as [
    string,
    string,
  ];
  if (requests !== undefined) {
    const ads = requests.map(({ url, file, more }) => ({ LocalFileName: file, ...more, Url: url }));
    writeFileSync(infile, ads.map(formatAd).join(''));
  }
  if (!existsSync(outfile)) writeFileSync(outfile, ' '.repeat(19264));
  hooks.beforeStart?.();
  const words = ['-infile', infile, '-outfile', outfile, ...(upload === true ? ['-upload'] : [])];
  const there =
    federation === undefined
      ? {}
      : { UPDRAFT_OSDF_HOST: federation.discoveryHost, UPDRAFT_SSL_CERT_FILE: federation.caFile };
  const done = await runAgent(words, { cwd: folder, env: { ...there, ...env }, ...hooks });
  return { ...done, ads: parseAds(readFileSync(outfile, 'utf8')) };
}

interface Run {
  cwd?: string;
  env?: Record<string, string>;
  started?: (pid: number) => void;
}

/** Runs the agent with these arguments and nothing of our own environment except Node's compile cache. */
export async function runAgent(
  words: string[],
  { cwd, env = {}, started }: Run = {},
): Promise<Omit<Result, 'ads'>> {
  const child = spawn(program, [...first, ...words], {
    cwd,
    env: { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.once('spawn', () => started?.(child.pid ?? 0));
  const exit = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { exit, stdout, stderr };
}

/** The ad of a URL. */
export function adOf(ads: readonly Ad[], url: string): Ad {
  const found = ads.find((ad) => attributeOf(ad, 'TransferUrl') === url);
  if (found === undefined) throw new Error(`no result for ${url}`);
  return found;
}

/** The text of an attribute; empty if it has none. */
export function textAt(ad: Ad | undefined, name: string): string {
  const value = ad === undefined ? undefined : attributeOf(ad, name);
  return typeof value === 'string' ? value : '';
}
