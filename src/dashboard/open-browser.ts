import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Env } from '../base/env.ts';
import { plainPage } from './page.ts';

/**
 * Opens the page in the user's browser, where there is one. Arguments of programs can be read by every user of the
 * machine, so the browser is given a file that only this user can read, which leads to the URL.
 */
export async function openBrowser(url: string, env: Env): Promise<AsyncDisposable | undefined> {
  const program = programFor(env);
  if (program === undefined) return undefined;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-open-'));
  const file = path.join(folder, 'dashboard.html');
  await writeFile(file, plainPage('Opening …', 'The dashboard opens.', url), { mode: 0o600 });
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
