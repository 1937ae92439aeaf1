import type { Fault } from '../../fault.ts';

/**
 * What a failed try says about the server:
 * - `missing`: it does not have the object; `refused`: it wants another token
 * - `expired`: nothing, it was not asked: our token has expired
 * - `cold`: it was asked for its copy of the object and has none yet, which is not a failure
 * - `busy`: it asks us to come back later; `filling`: it is fetching the object itself, stay with it
 * - `changed`: it has another version; `wrong`: it sends something else; `corrupt`: its bytes are damaged
 * - `withdrawn`: it sent all bytes, then reported that they are bad
 * - `no-ranges`: it can only send the whole object; `broken`: anything else
 */
export type SetbackKind =
  | 'missing'
  | 'refused'
  | 'expired'
  | 'cold'
  | 'busy'
  | 'filling'
  | 'changed'
  | 'wrong'
  | 'corrupt'
  | 'withdrawn'
  | 'no-ranges'
  | 'broken';

/** One failed try at one server; the transfer continues elsewhere. */
export class Setback extends Error {
  readonly kind: SetbackKind;
  readonly fault: Fault;

  constructor(kind: SetbackKind, fault: Fault) {
    super(fault.message, { cause: fault });
    this.kind = kind;
    this.fault = fault;
  }
}
