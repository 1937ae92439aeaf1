import {
  asFault as asAnyFault,
  type baseFaults,
  Fault as AnyFault,
  type FaultClass,
  kind,
} from '@updraft/base';

/** What can be wrong with an archive. */
export const archiveFaults = {
  'archive-damaged': kind(103, 'elsewhere'),
  'archive-kind': kind(104, 'never'),
  'archive-unsafe': kind(105, 'never'),
  'data-unexpected': kind(106, 'elsewhere'),
};

export type FaultKind = keyof typeof baseFaults | keyof typeof archiveFaults;
export const Fault: FaultClass<FaultKind> = AnyFault;
export type Fault = AnyFault<FaultKind>;
export const asFault = asAnyFault as (thrown: unknown) => Fault;
