export { asFault, Fault, usageFault } from './fault/fault.ts';
export { type FaultKind, agentExits, kinds } from './fault/kinds.ts';
export { faultWords } from './fault/words.ts';
