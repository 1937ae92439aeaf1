export type { ServerCounters } from './federation/exchange.ts';
export {
  type MiniFederation,
  startFederation,
  type FederationState,
  askAdmin,
  findFederation,
  startSharedFederation,
} from './federation/federation.ts';
export type { NamespaceOptions } from './federation/namespace.ts';
export { TroubleSyntaxError, parseTrouble, type TroubleStatus } from './federation/trouble.ts';
export { type ServerModel, serverModels } from './federation/server-traits.ts';
