import path from 'node:path';
import { bunFor, type Arch } from '../scripts/bun.ts';
import { findProgram } from '../test/servers/debian-packages.ts';
import type { Variant } from './interleave.ts';

/** The path of a program that the benchmark requires. */
export function program(name: string, debianPackage = name): string {
  const found = findProgram(name, [debianPackage]);
  if ('missing' in found) throw new Error(found.missing);
  return found.file;
}

/** The environment of all measured processes, without the user's settings. */
export function plainEnvironment(compileCache: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_COMPILE_CACHE: compileCache };
}

const fetchOne = path.join(import.meta.dirname, 'transfer', 'fetch-one.ts');
const nodeFetch = `
  const { createWriteStream } = require('node:fs');
  const { Readable } = require('node:stream');
  const { pipeline } = require('node:stream/promises');
  const [url, target] = process.argv.slice(1);
  fetch(url).then(({ body }) => pipeline(Readable.fromWeb(body), createWriteStream(target)));`;

interface DownloadTask {
  url: string;
  target: string;
  /** PEM file of the authority to trust. */
  ca: string;
  /** Node's compile cache, so that every start costs the same as a second one. */
  compileCache: string;
}

/** The same download by our engine, under Node and under the agent's Bun, and by other clients. */
export async function downloaders({ url, target, ca, compileCache }: DownloadTask): Promise<Variant[]> {
  const trust = url.startsWith('https:') ? { SSL_CERT_FILE: ca } : {};
  const env = { ...plainEnvironment(compileCache), ...trust };
  const bun = await bunFor(process.arch as Arch);
  const aria = ['-q', '--allow-overwrite', '--file-allocation=none', `--ca-certificate=${ca}`, '-d', '/'];
  const asAria = [...aria, '-o', target, url];
  return [
    { name: 'curl', command: [program('curl'), '-sS', '--cacert', ca, '-o', target, url] },
    { name: 'Updraft', command: [process.execPath, fetchOne, url, target], env },
    { name: 'Updraft, on the Bun of the agent', command: [bun, fetchOne, url, target], env },
    { name: 'wget', command: [program('wget'), '-q', `--ca-certificate=${ca}`, '-O', target, url] },
    { name: 'aria2c', command: [program('aria2c', 'aria2'), ...asAria] },
    { name: 'aria2c -x4 -s4', command: [program('aria2c', 'aria2'), '-x4', '-s4', ...asAria] },
    {
      name: 'fetch of Node',
      command: [process.execPath, '-e', nodeFetch, url, target],
      env: { ...env, NODE_EXTRA_CA_CERTS: ca },
    },
  ];
}
