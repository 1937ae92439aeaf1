export type { ServerCounters } from './federation/exchange.ts';
export { type MiniFederation, startFederation } from './federation/federation.ts';
export type { NamespaceOptions } from './federation/namespace.ts';
export { TroubleSyntaxError, parseTrouble } from './federation/parse-trouble.ts';
export { type ServerModel, serverModels } from './federation/server-traits.ts';
export {
  type FederationState,
  askAdmin,
  findFederation,
  startSharedFederation,
} from './federation/shared-federation.ts';
export type { TroubleStatus } from './federation/trouble.ts';
