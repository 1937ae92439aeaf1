import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Env } from '../base/env.ts';

const run = promisify(execFile);

/** An interpreter that was asked, and what it answered. */
export interface PythonTried {
  path: string;
  /** What it cannot import, or why it does not run. */
  lacks: string;
}

export type PythonSearch =
  { found: string; tried: PythonTried[] } | { found: undefined; tried: PythonTried[] };

const importEach = [
  'import importlib, sys',
  'for name in sys.argv[1:]:',
  '    try: importlib.import_module(name)',
  '    except Exception as error: sys.exit("%s (%s)" % (name, str(error).splitlines()[0] if str(error) else type(error).__name__))',
].join('\n');

interface Search {
  signal?: AbortSignal;
  /** The only folder to look in: software that came with the job must not be mixed with the machine's. */
  only?: string;
}

/**
 * The first interpreter that can really import the modules. The name `python3` alone promises nothing: one of
 * pyenv, conda or a virtual environment may come first on the PATH and know nothing of the system's packages.
 */
export async function findPython(
  modules: string[],
  env: Env,
  { signal, only }: Search = {},
): Promise<PythonSearch> {
  const tried: PythonTried[] = [];
  for (const candidate of await candidates(env, only)) {
    const lacks = await whatItLacks(candidate, modules, env, signal);
    if (lacks === undefined) return { found: candidate, tried };
    tried.push({ path: candidate, lacks });
  }
  return { found: undefined, tried };
}

/** Every python3 (then python) on the PATH and in the usual places, each program once. */
async function candidates(env: Env, only: string | undefined): Promise<string[]> {
  const usual = (env['PATH'] ?? '').split(':').filter((folder) => path.isAbsolute(folder));
  const folders = only === undefined ? [...usual, '/usr/bin', '/usr/local/bin'] : [only];
  const found = new Map<string, string>();
  for (const name of ['python3', 'python'])
    for (const folder of folders) {
      const file = path.join(folder, name);
      const target = await realpath(file).catch(() => undefined);
      // A virtual environment's python is a link to the system's, yet another interpreter: it is known by its folder.
      if (target !== undefined)
        found.set(`${path.dirname(file)} ${target}`, found.get(`${path.dirname(file)} ${target}`) ?? file);
    }
  return [...found.values()];
}

async function whatItLacks(
  python: string,
  modules: string[],
  env: Env,
  signal?: AbortSignal,
): Promise<string | undefined> {
  try {
    await run(python, ['-c', importEach, ...modules], {
      env: { ...env },
      timeout: 120_000,
      cwd: '/',
      ...(signal === undefined ? {} : { signal }),
    });
    return undefined;
  } catch (error) {
    signal?.throwIfAborted();
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    return stderr.split('\n').at(-1) ?? 'it does not start';
  }
}
