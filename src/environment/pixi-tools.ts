import { findProgram } from '../base/find-program.ts';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';
import { compareVersions } from './conda-version.ts';

/** How to get a program that is not there. */
const sources = {
  pixi: 'install Pixi (https://pixi.sh/latest/installation), which needs no administrator',
  'pixi-pack': 'install it with: pixi global install pixi-pack',
  apptainer:
    'install Apptainer (https://apptainer.org/docs/admin/main/installation.html), or build where it is: on an access point, or in a job',
} as const;

/** The path of a program, or a Fault that says how to get it. */
export async function needProgram(name: keyof typeof sources, what: string, env: Env): Promise<string> {
  const found = await findProgram([name], env);
  if (found !== undefined) return found;
  throw new Fault('pool-unreachable', `${what} needs ${name}, which is not on the PATH`, {
    fix: sources[name],
    about: name,
  });
}

export interface PackRequest {
  manifest: string;
  environment: string;
  platform: string;
  output: string;
  executable: boolean;
  /** The unpacking program that a self-extracting archive is to bring; by default the one pixi-pack fetches. */
  unpackSource?: string;
}

/** The words that pack an environment. `version` is what `pixi-pack --version` said: before 0.7 it had subcommands. */
export function packWords(version: string, request: PackRequest): string[] {
  const number = /\d+(\.\d+)*/.exec(version)?.[0];
  const isOld = number !== undefined && compareVersions(number, '0.7') < 0;
  const source = isOld ? '--pixi-pack-source' : '--pixi-unpack-source';
  return [
    ...(isOld ? ['pack'] : []),
    '--environment',
    request.environment,
    '--platform',
    request.platform,
    '--output-file',
    request.output,
    ...(request.executable ? ['--create-executable'] : []),
    // A tar brings no program, and pixi-pack refuses to be told of one.
    ...(request.executable && request.unpackSource !== undefined ? [source, request.unpackSource] : []),
    request.manifest,
  ];
}
