import type { archiveFaults } from '@updraft/archive/fault';
import { type baseFaults, Fault as AnyFault, type FaultClass, kind } from '@updraft/base';

/** What can be wrong with the languages of HTCondor. */
export const htcondorFaults = {
  'order-invalid': kind(117, 'never'),
};

export type FaultKind = keyof typeof baseFaults | keyof typeof archiveFaults | keyof typeof htcondorFaults;
export const Fault: FaultClass<FaultKind> = AnyFault;
export type Fault = AnyFault<FaultKind>;
