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
  'expect-wrong': kind(
    89,
    'never',
    'The servers agree on the data, but `sha256`, `expect` or the manifest describes other data.',
  ),
  'discovery-failed': kind(90, 'elsewhere', 'There is no federation at that host.'),
  'director-unreachable': kind(91, 'same', "The federation's director does not answer."),
  'servers-unreachable': kind(92, 'elsewhere', 'No cache or origin with the object can be reached.'),
  'token-missing': kind(93, 'never', 'The namespace requires a token, and none was found.'),
  'token-refused': kind(94, 'never', 'The servers rejected the token.'),
  'token-expired': kind(95, 'same', 'The token has expired.'),
  'object-missing': kind(
    96,
    'same',
    'The object does not exist, according to its origin or to every server.',
  ),
  'url-invalid': kind(97, 'never', 'The URL is invalid.'),
  'object-changed': kind(98, 'same', 'The object changed while it was being fetched.'),
  'transfer-stalled': kind(99, 'elsewhere', 'No server delivers bytes fast enough.'),
  'transfer-failed': kind(100, 'elsewhere', 'The transfer failed, and no other server could finish it.'),
  'data-corrupt': kind(101, 'elsewhere', 'The data differs from what was published.'),
};

export type FaultKind = keyof typeof baseFaults | keyof typeof pelicanFaults;
export const Fault: FaultClass<FaultKind> = AnyFault;
export type Fault = AnyFault<FaultKind>;
export const asFault = asAnyFault as (thrown: unknown) => Fault;

const retries: Readonly<Record<string, KindInfo>> = { ...baseFaults, ...pelicanFaults };

/** Whether another try, here or elsewhere, can only end alike. */
export const isFinal = ({ kind }: Fault): boolean => retries[kind]?.retry === 'never';
