import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { shellQuote } from '@updraft/base';
import { failingImport, findPython, type TriedPython } from '../../environment/find-python.ts';
import { Fault } from '@updraft/account/fault';
import type { OrderedEnvironment } from '../../job/job.ts';
import type { Attempt } from '../attempt.ts';
import type { SelfTests } from '../self-test/test-machine.ts';

/**
 * Checks in the background that the software can do what the training needs: importing a library like PyTorch takes
 * seconds, and neither the data nor the training waits for it.
 */
export class SoftwareCheck {
  readonly #attempt: Attempt;
  readonly #enough = new AbortController();
  /** The training's `python3`; undefined if the job names no modules. */
  #python: string | undefined;
  #isProven = false;

  private constructor(attempt: Attempt, python: string | undefined) {
    this.#attempt = attempt;
    this.#python = python;
  }

  /** Chooses the training's Python and starts; throws if no interpreter has the modules. */
  static async start(attempt: Attempt, tests: SelfTests): Promise<SoftwareCheck> {
    const check = new SoftwareCheck(attempt, await choosePython(attempt));
    tests.testEnvironment(attempt);
    tests.begin((asked) => check.#import(asked), attempt, check.#enough.signal);
    return check;
  }

  /** The training is about to start, and imports the same modules: proof enough, and the machine is its own. */
  leaveToTraining(): void {
    this.#enough.abort();
  }

  /** After a failed training: throws if its software is the cause. */
  async explainFailure(): Promise<void> {
    const { order, context } = this.#attempt;
    if (this.#isProven || this.#python === undefined || context.signal.aborted) return;
    const asked = failingImport(this.#python, order.environment.python, context.env, context.signal);
    const lacks = await asked.catch(() => undefined);
    if (lacks !== undefined) throw brokenPythonFault({ path: this.#python, lacks }, order.environment);
  }

  /** If the first choice cannot import the modules, tries the next interpreter that has them. */
  async #import(attempt: Attempt): Promise<void> {
    const { order, context, record } = attempt;
    const modules = order.environment.python;
    const failed: TriedPython[] = [];
    while (this.#python !== undefined) {
      const python = this.#python;
      const lacks = await failingImport(python, modules, context.env, context.signal);
      if (lacks === undefined) {
        this.#isProven = true;
        const said = `${python} imports ${modules.join(', ')}`;
        record({ kind: 'self-test', checks: [{ name: 'python', ok: true, said }] });
        return;
      }
      failed.push({ path: python, lacks });
      this.#python = await choosePython(attempt, failed);
    }
  }
}

/**
 * Points `python3` and `python`, for the training, to an interpreter that has the modules it imports, and returns its
 * path; undefined if it needs none. Those in `failed` could not import them.
 */
async function choosePython(
  { order, scratch, context }: Attempt,
  failed: readonly TriedPython[] = [],
): Promise<string | undefined> {
  const modules = order.environment.python;
  if (modules.length === 0) return undefined;
  const { CONDA_PREFIX: prefix } = context.env;
  const { pack, workspace } = order.environment;
  const isSent = pack !== undefined || workspace !== undefined;
  const only = isSent && prefix !== undefined ? { only: `${prefix}/bin` } : {};
  const { found, tried } = await findPython(modules, context.env, {
    signal: context.signal,
    isQuick: true,
    except: failed,
    ...only,
  });
  if (found === undefined) throw noPythonFault([...failed, ...tried], order.environment);
  for (const name of ['python3', 'python']) {
    const wrapper = path.join(scratch.bin, name);
    // Not a link: an interpreter finds its packages by the path it is started with.
    await writeFile(wrapper, `#!/bin/sh\nexec ${shellQuote(found)} "$@"\n`);
    await chmod(wrapper, 0o755);
  }
  return found;
}

function noPythonFault(tried: TriedPython[], environment: OrderedEnvironment): Fault {
  const asked = tried.map(({ path: python, lacks }) => `${python} lacks ${lacks}`).join('; ');
  const modules = environment.python.join(', ');
  const [where, fix] = whereAndFix(environment);
  return new Fault(
    'environment-broken',
    `no Python ${where} can import ${modules} (${asked === '' ? 'no Python was found' : asked})`,
    { fix, about: modules },
  );
}

/** The interpreter that the training ran with cannot import what it needs. */
function brokenPythonFault({ path: python, lacks }: TriedPython, environment: OrderedEnvironment): Fault {
  const [where, fix] = whereAndFix(environment);
  return new Fault(
    'environment-broken',
    `${python} ${where} cannot import ${lacks}, and the training failed`,
    { fix, about: environment.python.join(', ') },
  );
}

function whereAndFix({ image, pack, python, workspace }: OrderedEnvironment): [string, string] {
  if (pack !== undefined)
    return [
      `in the software archive ${pack.url}`,
      'add them to the Pixi environment, lock it and pack it again',
    ];
  if (workspace !== undefined)
    return [
      `in the Pixi environment "${workspace.environment}" of ${workspace.manifest}`,
      'add them to the environment and lock it again: updraft env lock',
    ];
  if (image !== undefined)
    return [
      `in the image ${image}`,
      'use an image that has them: updraft env image writes the recipe of one',
    ];
  const packages = python.map(debianPackage).join(' ');
  return [
    'on this machine',
    'install them for one of these interpreters (Debian: ' +
      `apt-get install ${packages}), or name an \`image\` in [environment]`,
  ];
}

const debianPackage = (module: string): string => {
  const name = module.split('.')[0]?.toLowerCase() ?? module;
  return `python3-${name === 'cv2' ? 'opencv' : name.replaceAll('_', '-')}`;
};
