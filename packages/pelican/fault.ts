import {
  asFault as asAnyFault,
  baseFaults,
  Fault as AnyFault,
  type FaultClass,
  kind,
  type KindInfo,
} from '@updraft/base';

/** What can go wrong between a federation and its client. */
export const pelicanFaults = {
  'expect-wrong': kind(89, 'never'),
  'discovery-failed': kind(90, 'elsewhere'),
  'director-unreachable': kind(91, 'same'),
  'servers-unreachable': kind(92, 'elsewhere'),
  'token-missing': kind(93, 'never'),
  'token-refused': kind(94, 'never'),
  'token-expired': kind(95, 'same'),
  'object-missing': kind(96, 'same'),
  'url-invalid': kind(97, 'never'),
  'object-changed': kind(98, 'same'),
  'transfer-stalled': kind(99, 'elsewhere'),
  'transfer-failed': kind(100, 'elsewhere'),
  'data-corrupt': kind(101, 'elsewhere'),
};

export type FaultKind = keyof typeof baseFaults | keyof typeof pelicanFaults;
export const Fault: FaultClass<FaultKind> = AnyFault;
export type Fault = AnyFault<FaultKind>;
export const asFault = asAnyFault as (thrown: unknown) => Fault;

const retries: Readonly<Record<string, KindInfo>> = { ...baseFaults, ...pelicanFaults };

/** Whether another try, here or elsewhere, can only end alike. */
export const isFinal = ({ kind }: Fault): boolean => retries[kind]?.retry === 'never';
