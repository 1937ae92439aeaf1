import { Fault } from '../fault/fault.ts';
import type { FaultKind } from '../fault/kinds.ts';

interface StatusContext {
  /** The object, as the user named it. */
  object: string;
  /** `host:port` that answered. */
  host: string;
  /** Seconds from a `Retry-After` header. */
  retryAfterSeconds?: number;
  /** What helps where a token is refused. */
  tokenFix?: string | undefined;
}

/** What a server's refusal means; for statuses that are no success. */
export function statusFault(
  status: number,
  { object, host, retryAfterSeconds, tokenFix }: StatusContext,
): Fault {
  const [kind, what, usualFix] = meaning(status);
  const fix = kind === 'token-refused' ? (tokenFix ?? usualFix) : usualFix;
  return new Fault(kind, `${object}: ${host} ${what} (status ${status})`, {
    about: object,
    ...(fix === undefined ? {} : { fix }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** Whether a server that answered so may do better a little later. */
export function mayPass(status: number): boolean {
  return (
    status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501 && status !== 507)
  );
}

function meaning(status: number): [FaultKind, string, string?] {
  switch (status) {
    case 401:
    case 403:
      return ['token-refused', 'refuses access', 'get a token for this path and this action'];
    case 404:
    case 410:
      return ['object-missing', 'has no such object', 'check the spelling of the path; list its folder'];
    case 429:
      return ['servers-unreachable', 'is overloaded', 'wait and run it again'];
    case 504:
      return [
        'transfer-stalled',
        'waits for the origin',
        'wait and run it again: the cache goes on fetching',
      ];
    case 507:
      return ['disk-full', 'has no room left', 'ask whoever runs the origin for space'];
    default:
      return status >= 500
        ? ['servers-unreachable', 'is in trouble', 'wait and run it again']
        : ['transfer-failed', 'does not do what it was asked'];
  }
}
