export { asFault, Fault } from './fault/fault.ts';
export { type FaultKind, agentExits, kinds } from './fault/kinds.ts';
