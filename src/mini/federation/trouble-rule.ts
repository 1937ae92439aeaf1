/** How a body that is cut short ends; `auto` is what an honest server would do. */
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
  /** Matched against the whole object path if it holds a slash, else against its last part. */
  glob: string | undefined;
  /** Matched against the job that the client says it is (`X-Pelican-JobId`). */
  job: string | undefined;
  /** Leave so many requests alone before the first. */
  skip: number;
  /** Happen at most so often. */
  first: number | undefined;
  /** Of the requests it could hit, hit only each n-th. */
  every: number;
  /** Only within so long after the rule was given. */
  forMs: number | undefined;
  /** Only within so long after it first happened. */
  lastingMs: number | undefined;
  /** Only once the server has sent so many bytes of matching objects since the rule was given. */
  onceSent: number | undefined;
}

/** What a rule may be about: a request for an object at a server, and the job that asks, where it says so. */
export interface TroubleRequest {
  server: string;
  object: string;
  job: string | undefined;
}

/** Where a rule's server part is `caches` or `all`, it holds for each of those servers. */
export function ruleCovers(rule: TroubleRule, server: string): boolean {
  if (rule.server === 'all' || rule.server === server) return true;
  return rule.server === 'caches' && server.startsWith('cache-');
}
