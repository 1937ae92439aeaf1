import type { FederationLocator } from '../../federation/locator.ts';
import type { KeptConnections } from '../../http/connections.ts';
import type { Policy } from '../../transfer/policy.ts';
import type { World } from '../world.ts';

/** What transfers share. */
export interface TransferWorld extends Pick<World, 'env' | 'clock' | 'cwd' | 'signal'> {
  locator: FederationLocator;
  policy: Partial<Policy>;
  connections: KeptConnections;
}
