import type { Env } from '../../base/env.ts';
import { brokenPack } from '../../environment/pack-metadata.ts';
import { Fault } from '../../fault/fault.ts';
import type { World } from '../world.ts';
import { lastWords, runProgram, type ProgramEnd } from './run-program.ts';

/** What every shell sets for itself. */
const shellsOwn = new Set(['_', 'SHLVL', 'PWD', 'OLDPWD']);

/** The variables that an environment's activation script leaves, so that every later command has them, whatever its shell. */
export async function activate(script: string, name: string, folder: string, world: World): Promise<Env> {
  const env = { ...world.env, BASH_ENV: undefined };
  const words = ['-c', '. "$1" >/dev/null && env -0', 'activate', script];
  let ended: ProgramEnd = await runProgram(['bash', ...words], env, folder, world);
  // Scripts of packages may be written for bash; a machine without it still gets those of POSIX.
  if (ended.status === undefined) ended = await runProgram(['/bin/sh', ...words], env, folder, world);
  if (ended.status !== 0) throw brokenPack(name, `it cannot be activated: ${lastWords(ended)}`);
  return variablesOf(ended.out);
}

/** The variables that the entry script of an image leaves: those who start a command in an image pass it by. */
export async function enterImage(entry: string, image: string, folder: string, world: World): Promise<Env> {
  const ended = await runProgram([entry, 'env', '-0'], world.env, folder, world);
  if (ended.status === 0) return variablesOf(ended.out);
  throw new Fault(
    'environment-broken',
    `the environment in the image ${image} cannot be activated: ${lastWords(ended)}`,
    { about: image, fix: 'build the image again: updraft env image --build' },
  );
}

function variablesOf(out: Buffer): Env {
  const pairs = out
    .toString('utf8')
    .split('\0')
    .flatMap((pair): [string, string][] => {
      const at = pair.indexOf('=');
      const key = pair.slice(0, at);
      return at < 1 || shellsOwn.has(key) ? [] : [[key, pair.slice(at + 1)]];
    });
  return Object.fromEntries(pairs);
}
