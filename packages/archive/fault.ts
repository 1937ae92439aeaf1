import {
  asFault as asAnyFault,
  type baseFaults,
  Fault as AnyFault,
  type FaultClass,
  kind,
} from '@updraft/base';

/** What can be wrong with an archive. */
export const archiveFaults = {
  'archive-damaged': kind(103, 'elsewhere', 'The archive is truncated or damaged.'),
  'archive-kind': kind(104, 'never', 'The published file is not an archive that Updraft can unpack.'),
  'archive-unsafe': kind(105, 'never', 'The archive would write outside its directory.'),
  'data-unexpected': kind(106, 'elsewhere', 'The data does not match `expect`.'),
};

export type FaultKind = keyof typeof baseFaults | keyof typeof archiveFaults;
export const Fault: FaultClass<FaultKind> = AnyFault;
export type Fault = AnyFault<FaultKind>;
export const asFault = asAnyFault as (thrown: unknown) => Fault;
