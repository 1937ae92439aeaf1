import { parse, stringify } from 'yaml';
import type { LockedPlatform } from './pixi-lock.ts';

/**
 * A lock with one environment on one platform of it and nothing else: pixi-pack knows platforms by their subdir, and
 * takes any of several that share one.
 */
export function onePlatformLock(
  text: string,
  environment: string,
  { name, inLock = name }: LockedPlatform,
): string {
  const lock = parse(text, { logLevel: 'error', maxAliasCount: 0 }) as WholeLock;
  const { packages = {}, ...rest } = lock.environments[environment] ?? {};
  return stringify({
    ...lock,
    ...(lock.platforms && { platforms: lock.platforms.filter((one) => one.name === inLock) }),
    environments: { [environment]: { ...rest, packages: { [inLock]: packages[inLock] } } },
  });
}

interface WholeLock {
  platforms?: { name: string }[];
  environments: Record<string, { packages?: Record<string, unknown> } | undefined>;
}
