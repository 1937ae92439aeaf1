import type { Fault } from '../fault/fault.ts';
import type { FaultRecord } from './entry.ts';

/** A fault as the journal keeps it. */
export function recordOf(fault: Fault): FaultRecord {
  const { kind, message, fix, about } = fault;
  return {
    kind,
    message,
    ...(fix === undefined ? {} : { fix }),
    ...(about === undefined ? {} : { about }),
  };
}
