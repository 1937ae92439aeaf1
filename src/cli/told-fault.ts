import { Fault } from '../fault/fault.ts';

/** A failure the command has told in its own words: only its exit code is left to give. */
export class ToldFault extends Fault {
  constructor({ kind, message }: Fault) {
    super(kind, message);
    this.name = 'ToldFault';
  }
}
