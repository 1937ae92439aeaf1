import { Fault } from '../../fault/fault.ts';
import type { FaultKind } from '../../fault/kinds.ts';
import type { Source } from './roster.ts';

/** From what says most about the object to what says least. */
const weight: FaultKind[] = [
  'data-corrupt',
  'object-changed',
  'data-wrong',
  'transfer-stalled',
  'transfer-failed',
  'token-refused',
  'token-missing',
  'servers-unreachable',
  'object-missing',
];

/** The one Fault that says best why no server could deliver, naming what each of them did. */
export function truestFault(url: string, sources: readonly Source[], progress: string): Fault {
  const setbacks = sources.flatMap(({ last }) => (last === undefined ? [] : [last]));
  const [first] = setbacks
    .map(({ fault }) => fault)
    .sort((a, b) => weight.indexOf(a.kind) - weight.indexOf(b.kind));
  if (first === undefined) return new Fault('servers-unreachable', `${url}: nobody was named that has it`);
  const all = [...new Set(setbacks.map(({ fault }) => fault.message))].join('; ');
  const waits = setbacks.flatMap(({ fault }) => fault.retryAfterSeconds ?? []);
  return new Fault(first.kind, `${url}: ${progress}: ${all}`, {
    about: url,
    cause: first,
    ...(first.fix !== undefined && { fix: first.fix }),
    ...(waits.length > 0 && { retryAfterSeconds: Math.min(...waits) }),
  });
}
