import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { shellQuote } from '../base/shell-quote.ts';
import { findPython } from '../environment/find-python.ts';
import { Fault } from '../fault/fault.ts';
import type { OrderedEnvironment } from '../job/job.ts';
import type { Attempt } from './attempt.ts';

/** Makes `python3` and `python` mean, for the training, an interpreter that has the modules it imports. */
export async function choosePython({ order, scratch, world }: Attempt): Promise<void> {
  const modules = order.environment.python;
  if (modules.length === 0) return;
  const { CONDA_PREFIX: prefix } = world.env;
  const only = order.environment.pack === undefined || prefix === undefined ? {} : { only: `${prefix}/bin` };
  const search = await findPython(modules, world.env, { signal: world.signal, ...only });
  if (search.found === undefined) throw nonePython(modules, search.tried, order.environment);
  for (const name of ['python3', 'python']) {
    const wrapper = path.join(scratch.bin, name);
    // A link would not do: an interpreter finds its packages by the path it is started with.
    await writeFile(wrapper, `#!/bin/sh\nexec ${shellQuote(search.found)} "$@"\n`);
    await chmod(wrapper, 0o755);
  }
}

function nonePython(
  modules: string[],
  tried: { path: string; lacks: string }[],
  { image, pack }: OrderedEnvironment,
): Fault {
  const asked = tried.map(({ path: python, lacks }) => `${python} lacks ${lacks}`).join('; ');
  const packages = modules.map(debianPackage).join(' ');
  const [where, fix] =
    pack !== undefined
      ? [`in the software archive ${pack.url}`, 'add them to the Pixi environment, lock it and pack it again']
      : image !== undefined
        ? [`in the image ${image}`, 'use an image that has them: updraft env image writes the recipe of one']
        : [
            'on this machine',
            `install them for one of these interpreters (Debian: apt-get install ${packages}), or name an \`image\` in [environment]`,
          ];
  return new Fault(
    'environment-broken',
    `no Python ${where} can import ${modules.join(', ')} (${asked === '' ? 'no Python was found' : asked})`,
    {
      fix,
      about: modules.join(', '),
    },
  );
}

const debianPackage = (module: string): string => {
  const name = module.split('.')[0]?.toLowerCase() ?? module;
  return `python3-${name === 'cv2' ? 'opencv' : name.replaceAll('_', '-')}`;
};
