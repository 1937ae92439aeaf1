import { compareVersions } from './conda-version.ts';
import { lockedVirtual, type LockedPlatform, type PixiLock } from './pixi-lock.ts';
import { platformsOf, type ManifestPlatform, type PixiManifest } from './pixi-manifest.ts';

/**
 * Gives the platforms of a lock the names that its manifest has for them. Pixi writes those with virtual packages of
 * their own as `p1`, `p2`, and finds them again by what they hold.
 */
export function namePlatforms(lock: PixiLock, manifest: PixiManifest): PixiLock {
  const named = [...lock.environments].map(([environment, locked]): [string, typeof locked] => {
    const known = platformsOf(manifest, environment);
    const names = new Set(locked.platforms.map(({ name }) => name));
    const free = known.filter(({ name }) => !names.has(name));
    const platforms = locked.platforms.map((platform) =>
      known.some(({ name }) => name === platform.name)
        ? platform
        : { ...platform, name: sameAs(platform, free)?.name ?? platform.name, inLock: platform.name },
    );
    return [environment, { ...locked, platforms }];
  });
  return { ...lock, environments: new Map(named) };
}

/** The one of its subdir; where there are several, the one that says the same and most of it. */
function sameAs(platform: LockedPlatform, known: ManifestPlatform[]): ManifestPlatform | undefined {
  const alike = known.filter(({ subdir }) => subdir === platform.subdir);
  if (alike.length < 2) return alike[0];
  const said = ({ virtual }: ManifestPlatform): number => Object.keys(virtual).length;
  return alike
    .filter(({ virtual }) => differing(virtual, platform).length === 0)
    .sort((a, b) => said(b) - said(a))[0];
}

/** The virtual packages that a platform was not locked with as its manifest says; what GPU there is must be said. */
export function differing(virtual: Record<string, string>, locked: LockedPlatform): string[] {
  return [...new Set(['__cuda', '__cuda_arch', ...Object.keys(virtual)])].filter((name) => {
    const [said, found] = [virtual[name], lockedVirtual(locked, name)];
    return said === undefined || found === undefined ? said !== found : compareVersions(said, found) !== 0;
  });
}
