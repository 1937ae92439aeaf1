import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Env, findProgram, given } from '@updraft/base';
import { cacheFolder } from '@updraft/base/user-folders';
import { Fault } from '@updraft/account/fault';
import { rm, writeFile } from 'node:fs/promises';
import { sentAuthorities } from '@updraft/pelican/trust';
import { fetchedBy, type Plan } from '../job/plan.ts';

/** What runs a program inside a plan's image, as HTCondor does: the agent runs inside, too. */
export interface ImageRunner {
  runner: string;
  image: string;
}

/** Variables that point to the machine's software instead of the image's. */
export const hiddenEnvVars = [
  'PYTHONPATH',
  'PYTHONHOME',
  'VIRTUAL_ENV',
  'CONDA_PREFIX',
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
];

/** How jobs of this plan enter their image on this machine; undefined for those without an image. */
export async function findImageRunner(
  { spec, folder, file }: Plan,
  env: Env,
): Promise<ImageRunner | undefined> {
  const { image } = spec.environment;
  if (image === undefined) return undefined;
  const runner = await findProgram(['apptainer', 'singularity'], env);
  if (runner === undefined)
    throw new Fault(
      'pool-unreachable',
      `the job runs in the image ${image}, but neither apptainer nor singularity is on the PATH of this machine`,
      {
        about: file,
        fix:
          'install Apptainer, remove `image` from [environment] to ' +
          'use the software of this machine, or choose another pool',
      },
    );
  return { runner, image: imageSource(image, { folder, file }, env) };
}

/** The image argument for Apptainer: a path, or a URL that it supports itself. */
export function imageSource(
  image: string,
  { folder, file }: Pick<Plan, 'folder' | 'file'>,
  env: Env,
): string {
  const kept = cachedImage(image, env);
  if (kept !== undefined && !existsSync(kept))
    throw new Fault('pool-unreachable', `the image ${image} is not on this machine`, {
      about: file,
      fix:
        'start the run again to fetch it, or fetch it with ' +
        'updraft get and name the file as `image` in [environment]',
    });
  return kept ?? (image.includes('://') ? image : path.resolve(folder, image));
}

/**
 * Where an image from a federation or web server is cached on this machine, by its URL; undefined for one that
 * Apptainer fetches itself.
 */
export function cachedImage(image: string, env: Env): string | undefined {
  if (!/^(osdf|pelican|stash|https?):/i.test(image)) return undefined;
  const mark = createHash('sha256').update(image).digest('hex').slice(0, 16);
  const name = path.posix.basename(image.replace(/[?#].*$/, '')).replaceAll(/[^\w.-]/g, '_');
  return path.join(cacheFolder(env), 'images', `${mark}-${name}`);
}

/** Folders of the machine that an attempt reads: data and tokens. */
export function readFolders(plan: Plan): string[] {
  const files = fetchedBy(plan).flatMap(({ url, tokenFile }) =>
    given(/^file:/i.test(url) && fileURLToPath(url), tokenFile),
  );
  return [...new Set(files.map((file) => path.dirname(file)))];
}

/** Runs `command` in the image, with all folders that an attempt needs at their own paths. */
export function imageCommand(
  { runner, image }: ImageRunner,
  command: string[],
  folders: { run: string; scratch: string; agent: string[] },
  plan: Plan,
): string[] {
  const [executable = '', source] = folders.agent;
  const places = [
    folders.run,
    folders.scratch,
    path.dirname(executable),
    // An agent started from source needs the complete source.
    ...(source === undefined || !path.isAbsolute(source) ? [] : [path.resolve(source, '..', '..', '..')]),
    ...readFolders(plan),
  ];
  return given(
    runner,
    '--silent',
    'exec',
    '--no-home',
    plan.spec.resources.gpus > 0 && '--nv',
    ...[...new Set(places)].flatMap((place) => ['--bind', `${place}:${place}`]),
    '--pwd',
    folders.scratch,
    image,
    ...command,
  );
}

/** The environment of an attempt in an image, without what points to the machine's own software. */
export const imageEnvironment = (env: Env): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !hiddenEnvVars.includes(name)));

/** Writes the certificate authorities that travel with jobs, if there are any, into the run's folder. */
export async function writeAuthorities(file: string, env: Env): Promise<void> {
  const authorities = sentAuthorities(env);
  if (authorities.length === 0) return;
  // Not through the link to the user's file that an earlier version left.
  await rm(file, { force: true });
  await writeFile(file, `${authorities.join('\n')}\n`);
}
