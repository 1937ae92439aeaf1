import { Fault } from '../fault/fault.ts';

/** What an archive of pixi-pack says of itself in its `pixi-pack.json`. */
export interface PackMetadata {
  platform: string;
  /** Of the program that made it; early ones did not say. */
  madeBy?: string;
}

export const metadataName = 'pixi-pack.json';
/** The one version of the format there is. */
const format = '1';

const again = 'make it again with: updraft env pack';
const unusable = (name: string, what: string): string =>
  `the software archive ${name} cannot be used: ${what}`;

/** An archive that cannot be used here, and what to do; it may be this copy, or this machine. */
export const brokenPack = (name: string, what: string, fix = again): Fault =>
  new Fault('environment-broken', unusable(name, what), { about: name, fix });

/** An archive that can be used nowhere: it was made so. */
export const wrongPack = (name: string, what: string, fix = again): Fault =>
  new Fault('archive-kind', unusable(name, what), { about: name, fix });

/** Reads `pixi-pack.json`; an archive of another format is refused. */
export function readPackMetadata(text: string, name: string): PackMetadata {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrongPack(name, `its ${metadataName} is not JSON`);
  }
  const { version, platform, 'pixi-pack-version': madeBy } = (value ?? {}) as Record<string, unknown>;
  if (version !== format)
    throw wrongPack(
      name,
      `it is of version ${String(version)} of the format, and only version ${format} is understood`,
      'make it with pixi-pack 0.7, or use a newer updraft',
    );
  if (typeof platform !== 'string') throw wrongPack(name, `its ${metadataName} names no platform`);
  return { platform, ...(typeof madeBy === 'string' && { madeBy }) };
}

/** What conda calls the platform of a machine, by the words of Node's `os.arch()`. */
export const condaPlatform = (arch: string): string =>
  ({ x64: 'linux-64', arm64: 'linux-aarch64', ppc64: 'linux-ppc64le' })[arch] ?? `linux-${arch}`;

/** Refuses an archive that was made for other machines. */
export function checkPlatform({ platform }: PackMetadata, here: string, name: string): void {
  if (platform === here) return;
  // Pools mix machines of Linux, and have no others.
  const refused = platform.startsWith('linux-') ? brokenPack : wrongPack;
  throw refused(
    name,
    `it is for ${platform}, and this machine is ${here}`,
    `pack the environment for the machines it runs on: updraft env pack --platform ${here}`,
  );
}
