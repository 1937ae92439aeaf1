import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { shellQuote } from '../../base/shell-quote.ts';
import { findPython, type PythonTried } from '../../environment/find-python.ts';
import { Fault } from '../../fault/fault.ts';
import type { OrderedEnvironment } from '../../job/job.ts';
import type { Attempt } from '../attempt.ts';

/**
 * Makes `python3` and `python` mean, for the training, an interpreter in which the modules it imports are installed, and
 * tells which; undefined where it asks for none. Those in `failed` have turned out not to be able to import them.
 */
export async function choosePython(
  { order, scratch, world }: Attempt,
  failed: readonly PythonTried[] = [],
): Promise<string | undefined> {
  const modules = order.environment.python;
  if (modules.length === 0) return undefined;
  const { CONDA_PREFIX: prefix } = world.env;
  const only = order.environment.pack === undefined || prefix === undefined ? {} : { only: `${prefix}/bin` };
  const { found, tried } = await findPython(modules, world.env, {
    signal: world.signal,
    isQuick: true,
    except: failed,
    ...only,
  });
  if (found === undefined) throw nonePython([...failed, ...tried], order.environment);
  for (const name of ['python3', 'python']) {
    const wrapper = path.join(scratch.bin, name);
    // A link would not do: an interpreter finds its packages by the path it is started with.
    await writeFile(wrapper, `#!/bin/sh\nexec ${shellQuote(found)} "$@"\n`);
    await chmod(wrapper, 0o755);
  }
  return found;
}

function nonePython(tried: PythonTried[], environment: OrderedEnvironment): Fault {
  const asked = tried.map(({ path: python, lacks }) => `${python} lacks ${lacks}`).join('; ');
  const modules = environment.python.join(', ');
  const [where, fix] = whereAndFix(environment);
  return new Fault(
    'environment-broken',
    `no Python ${where} can import ${modules} (${asked === '' ? 'no Python was found' : asked})`,
    { fix, about: modules },
  );
}

/** The interpreter with which the training ran cannot import what it needs. */
export function brokenPython({ path: python, lacks }: PythonTried, environment: OrderedEnvironment): Fault {
  const [where, fix] = whereAndFix(environment);
  return new Fault(
    'environment-broken',
    `${python} ${where} cannot import ${lacks}, and the training failed`,
    {
      fix,
      about: environment.python.join(', '),
    },
  );
}

function whereAndFix({ image, pack, python }: OrderedEnvironment): [string, string] {
  if (pack !== undefined)
    return [
      `in the software archive ${pack.url}`,
      'add them to the Pixi environment, lock it and pack it again',
    ];
  if (image !== undefined)
    return [
      `in the image ${image}`,
      'use an image that has them: updraft env image writes the recipe of one',
    ];
  const packages = python.map(debianPackage).join(' ');
  return [
    'on this machine',
    `install them for one of these interpreters (Debian: apt-get install ${packages}), or name an \`image\` in [environment]`,
  ];
}

const debianPackage = (module: string): string => {
  const name = module.split('.')[0]?.toLowerCase() ?? module;
  return `python3-${name === 'cv2' ? 'opencv' : name.replaceAll('_', '-')}`;
};
