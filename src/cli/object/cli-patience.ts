import { createLocator, type FederationLocator } from '../../federation/locator.ts';
import { policyFrom, type Policy } from '../../transfer/policy.ts';
import type { Cli } from '../cli.ts';

/** A person who waits at the prompt is told sooner that nobody listens or the token is old; a job's agent has more time. */
const refusedMs = 3_500;
export function promptPolicy({ env }: Cli): Partial<Policy> {
  return { unreachedLaps: 4, renewSeconds: 60, ...policyFrom(env) };
}

/** The way to objects for a command that somebody waits for. */
export function openFederation(cli: Cli): FederationLocator {
  return createLocator({ ...cli, refusedMs });
}
