import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Env } from '@updraft/base';
import { plainPage } from './page.ts';

export async function machineFacts(uid: number, proc = '/proc'): Promise<MachineFacts> {
  const condor = await stat('/etc/condor').catch(() => undefined);
  return { hostname: os.hostname(), hasCondor: condor !== undefined, hasSchedd: await hasSchedd(uid, proc) };
}

/** A schedd of the user's own, such as that of a mini pool, does not count. */
async function hasSchedd(uid: number, proc: string): Promise<boolean> {
  for (const name of await readdir(proc).catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const comm = await readFile(`${proc}/${name}/comm`, 'utf8').catch(() => '');
    if (comm.trim() !== 'condor_schedd') continue;
    const owner = await stat(`${proc}/${name}`).catch(() => undefined);
    if (owner !== undefined && owner.uid !== uid) return true;
  }
  return false;
}

interface MachineFacts {
  hostname: string;
  /** HTCondor is configured system-wide. */
  hasCondor: boolean;
  /** A `condor_schedd` of another user, such as the system's, runs here. */
  hasSchedd: boolean;
}

const knownAccessPoints =
  /(^ap\d*\.|^login\d*\.|\.)(osg-htc\.org|osgconnect\.net|opensciencegrid\.org)$|\.chtc\.wisc\.edu$/i;

/** Why this machine seems to be an access point, where no server may run; undefined if it is not. Pure. */
export function accessPointReason({ hostname, hasCondor, hasSchedd }: MachineFacts): string | undefined {
  if (knownAccessPoints.test(hostname)) return `its name is ${hostname}`;
  if (hasSchedd) return 'the condor_schedd of a pool runs here';
  return hasCondor && /^(ap|submit|login)\d*[.-]/i.test(hostname)
    ? `it is called ${hostname} and HTCondor is set up for it`
    : undefined;
}

/**
 * Opens the page in the user's browser, if there is one. Every user of the machine can read the arguments of programs,
 * so the browser gets a file that only this user can read and that forwards to the URL.
 */
export async function openBrowser(url: string, env: Env): Promise<AsyncDisposable | undefined> {
  const program = programFor(env);
  if (program === undefined) return undefined;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-open-'));
  const file = path.join(folder, 'dashboard.html');
  await writeFile(file, plainPage('Opening …', 'The dashboard is opening.', url), { mode: 0o600 });
  const child = spawn(program, [pathToFileURL(file).href], { env, stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
  return { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

function programFor(env: Env): string | undefined {
  if (os.platform() === 'darwin') return 'open';
  const hasScreen = env['DISPLAY'] !== undefined || env['WAYLAND_DISPLAY'] !== undefined;
  return hasScreen && env['SSH_CONNECTION'] === undefined ? 'xdg-open' : undefined;
}
