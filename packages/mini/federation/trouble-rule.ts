/** How a truncated body ends; `auto` is what an honest server would do. */
export type TruncatedEnd = 'auto' | 'trailer' | 'no-trailer' | 'length';

/** One way in which a server misbehaves. Sizes are bytes, rates bytes per second. */
export type TroubleAction =
  | { kind: 'stall'; after: number }
  | { kind: 'reset'; after: number }
  | { kind: 'truncate'; after: number; end: TruncatedEnd }
  | { kind: 'slow'; rate: number }
  | { kind: 'limit'; rate: number }
  | { kind: 'corrupt'; at: number; length: number }
  | { kind: 'status'; code: number; retryAfterSeconds: number | undefined; proxy: boolean }
  | { kind: 'delay'; ms: number }
  | { kind: 'down' }
  | { kind: 'html' }
  | { kind: 'nonsense' }
  | { kind: 'expire-token'; after: number }
  | { kind: 'wrong-size'; by: number }
  | { kind: 'ignore-range' }
  | { kind: 'wrong-offset'; by: number }
  | { kind: 'changed' }
  | { kind: 'digest-missing' }
  | { kind: 'digest-slow'; ms: number }
  | { kind: 'digest-mislabelled' };

export type ActionOf<K extends TroubleAction['kind']> = Extract<TroubleAction, { kind: K }>;

/** What misbehaves, how, for which objects and when. */
export interface TroubleRule {
  text: string;
  /** `director`, `origin`, `cache-1`…, `caches` for all of them, or `all`. */
  server: string;
  action: TroubleAction;
  /** Matched against the full object path if it contains a slash, else against the last part. */
  glob: string | undefined;
  /** Matched against the client's `X-Pelican-JobId`. */
  job: string | undefined;
  /** Spare the first n requests. */
  skip: number;
  /** Fire at most n times. */
  first: number | undefined;
  /** Fire for every nth matching request. */
  every: number;
  /** Only for this long after the rule was added. */
  forMs: number | undefined;
  /** Only for this long after it first fired. */
  lastingMs: number | undefined;
  /** Only after the server has sent this many bytes of matching objects since the rule was added. */
  onceSent: number | undefined;
}

/** What rules match: a request for an object at a server, and its job if the client names one. */
export interface TroubleRequest {
  server: string;
  object: string;
  job: string | undefined;
}

/** A rule for `caches` or `all` covers each of those servers. */
export function ruleCovers(rule: TroubleRule, server: string): boolean {
  if (rule.server === 'all' || rule.server === server) return true;
  return rule.server === 'caches' && server.startsWith('cache-');
}
