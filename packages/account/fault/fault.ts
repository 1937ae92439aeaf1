import { asFault as asAnyFault, Fault as AnyFault, type FaultClass } from '@updraft/base';
import type { FaultKind } from './kinds.ts';

/** The class as the product sees it: with the kinds of all packages. */
export const Fault: FaultClass<FaultKind> = AnyFault;
export type Fault = AnyFault<FaultKind>;
export const asFault = asAnyFault as (thrown: unknown) => Fault;

/** What a user asked for is wrong: what, what to do instead, and which of the words it is about. */
export const usageFault = (message: string, fix?: string, about?: string): Fault =>
  new Fault('usage', message, { fix, about });
