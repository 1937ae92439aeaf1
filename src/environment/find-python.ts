import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Env } from '../base/env.ts';

const run = promisify(execFile);

/** An interpreter that was asked, and what it answered. */
export interface TriedPython {
  path: string;
  /** What it cannot import, or why it does not run. */
  lacks: string;
}

export type PythonSearch =
  { found: string; tried: TriedPython[] } | { found: undefined; tried: TriedPython[] };

/** For each module named, one statement; the first that fails is told with its reason. */
const eachOf = (statement: string): string =>
  [
    'import importlib, importlib.util, sys',
    'for name in sys.argv[1:]:',
    `    try: ${statement}`,
    '    except Exception as error: sys.exit("%s (%s)" % (name, str(error).splitlines()[0] if str(error) else type(error).__name__))',
  ].join('\n');
const importEach = eachOf('importlib.import_module(name)');
/** A module's packages only: to look further down, they would have to be imported. */
const findEach = eachOf(
  `importlib.util.find_spec(name.split(".")[0]) or sys.exit("%s (No module named '%s')" % (name, name.split(".")[0]))`,
);

interface Search {
  signal?: AbortSignal;
  /** The only folder to look in: software that came with the job must not be mixed with the machine's. */
  only?: string;
  /** That a module is installed will do; importing one like PyTorch takes seconds. */
  isQuick?: boolean;
  /** Interpreters that have been asked already. */
  except?: readonly TriedPython[];
}

/**
 * The first interpreter that has the modules. The name `python3` alone promises nothing: one of pyenv, conda or a
 * virtual environment may come first on the PATH and know nothing of the system's packages.
 */
export async function findPython(
  modules: string[],
  env: Env,
  { signal, only, isQuick = false, except = [] }: Search = {},
): Promise<PythonSearch> {
  const tried: TriedPython[] = [];
  for (const candidate of await candidates(env, only)) {
    if (except.some((one) => one.path === candidate)) continue;
    const lacks = await ask(candidate, isQuick ? findEach : importEach, modules, env, signal);
    if (lacks === undefined) return { found: candidate, tried };
    tried.push({ path: candidate, lacks });
  }
  return { found: undefined, tried };
}

/** What an interpreter cannot import of the modules, with the reason; undefined when it can import them all. */
export async function failingImport(
  python: string,
  modules: string[],
  env: Env,
  signal?: AbortSignal,
): Promise<string | undefined> {
  return await ask(python, importEach, modules, env, signal);
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

async function ask(
  python: string,
  script: string,
  modules: string[],
  env: Env,
  signal?: AbortSignal,
): Promise<string | undefined> {
  try {
    await run(python, ['-c', script, ...modules], {
      env: { ...env },
      timeout: 120_000,
      cwd: '/',
      ...(signal === undefined ? {} : { signal }),
    });
    return undefined;
  } catch (error) {
    signal?.throwIfAborted();
    const { stderr = '', signal: killer } = error as Error & { stderr?: string; signal?: string | null };
    const said = stderr.trim().split('\n').at(-1) ?? '';
    if (said !== '') return said;
    // A library built for another processor ends the interpreter without a word.
    const why = typeof killer === 'string' ? `${killer} ended it` : 'it does not start';
    return `${modules.join(', ')} (${why})`;
  }
}
