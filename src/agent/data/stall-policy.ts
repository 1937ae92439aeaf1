import type { Env } from '../../base/env.ts';
import type { Policy } from '../../transfer/policy.ts';

/** The user's own patience with a silent server, UPDRAFT_STALL_SECONDS, where it is said. */
export function stallPolicy(env: Env): Partial<Policy> {
  const seconds = Number(env['UPDRAFT_STALL_SECONDS']);
  return seconds > 0 ? { stallSeconds: seconds } : {};
}
