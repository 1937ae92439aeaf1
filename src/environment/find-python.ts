import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Env } from '@updraft/base';

const run = promisify(execFile);

/** An interpreter that was tried in vain. */
export interface TriedPython {
  path: string;
  /** What it cannot import, or why it does not run. */
  lacks: string;
}

export interface PythonSearch {
  found: string | undefined;
  tried: TriedPython[];
}

/** Runs a statement for each module; exits with the first that fails and its reason. */
const eachOf = (statement: string): string =>
  [
    'import importlib, importlib.util, sys',
    'for name in sys.argv[1:]:',
    `    try: ${statement}`,
    '    except Exception as error: sys.exit("%s (%s)" % (name, ' +
      'str(error).splitlines()[0] if str(error) else type(error).__name__))',
  ].join('\n');
const importEach = eachOf('importlib.import_module(name)');
/** Only top-level packages: finding a submodule would import its parents. */
const findEach = eachOf(
  `importlib.util.find_spec(name.split(".")[0]) or sys.exit("%s (No module named '%s')" % (name, name.split(".")[0]))`,
);

interface Search {
  signal?: AbortSignal;
  /** The only folder to search: software that came with the job must not be mixed with the machine's. */
  only?: string;
  /** Only check that the modules are installed; importing one like PyTorch takes seconds. */
  isQuick?: boolean;
  /** Interpreters that were already tried. */
  except?: readonly TriedPython[];
}

/**
 * The first interpreter that has the modules. The first `python3` on the PATH may be from pyenv, conda or a virtual
 * environment, without the system's packages.
 */
export async function findPython(
  modules: string[],
  env: Env,
  { signal, only, isQuick = false, except = [] }: Search = {},
): Promise<PythonSearch> {
  const tried: TriedPython[] = [];
  for (const candidate of await candidates(env, only)) {
    if (except.some((one) => one.path === candidate)) continue;
    const lacks = await failingImport(candidate, modules, env, signal, isQuick ? findEach : importEach);
    if (lacks === undefined) return { found: candidate, tried };
    tried.push({ path: candidate, lacks });
  }
  return { found: undefined, tried };
}

/** Every python3 (then python) on the PATH and in the usual places, each once. */
async function candidates(env: Env, only: string | undefined): Promise<string[]> {
  const usual = (env['PATH'] ?? '').split(':').filter((folder) => path.isAbsolute(folder));
  const folders = only === undefined ? [...usual, '/usr/bin', '/usr/local/bin'] : [only];
  const found = new Map<string, string>();
  for (const name of ['python3', 'python'])
    for (const folder of folders) {
      const file = path.join(folder, name);
      const target = await realpath(file).catch(() => undefined);
      // A virtual environment's python links to the system's but is another interpreter: the folder is part of the key.
      if (target !== undefined)
        found.set(`${path.dirname(file)} ${target}`, found.get(`${path.dirname(file)} ${target}`) ?? file);
    }
  return [...found.values()];
}

/** The first module that an interpreter cannot import, or does not have, with the reason. */
export async function failingImport(
  python: string,
  modules: string[],
  env: Env,
  signal?: AbortSignal,
  script = importEach,
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
    // A library built for another processor kills the interpreter before it can print anything.
    const why = typeof killer === 'string' ? `killed by ${killer}` : 'it does not start';
    return `${modules.join(', ')} (${why})`;
  }
}
