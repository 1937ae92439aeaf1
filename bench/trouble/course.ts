/** One obstacle: what goes wrong while an object is fetched that three caches hold. */
export interface Obstacle {
  name: string;
  rules: string[];
  /** The object needs a token, which is renewed every second, as HTCondor does. */
  token?: boolean;
}

/** Each fault that the small federation can make, once. */
export const course: Obstacle[] = [
  { name: 'none', rules: [] },
  { name: 'a cache stalls', rules: ['cache-1: stall after 16MB'] },
  { name: 'a cache gives 100 kB/s', rules: ['cache-1: slow 100kB/s'] },
  { name: 'a connection is reset', rules: ['cache-1: reset after 16MB first 1'] },
  {
    name: 'a body is cut, the trailer says so',
    rules: ['cache-1: truncate after 16MB with trailer first 1'],
  },
  { name: 'a body is cut, nothing says so', rules: ['cache-1: truncate after 16MB without trailer first 1'] },
  { name: 'a body is shorter than its length', rules: ['cache-1: truncate after 16MB with length first 1'] },
  { name: 'a cache damages a byte', rules: ['cache-1: corrupt at 20MB'] },
  { name: 'a burst of 404', rules: ['caches: 404 first 2'] },
  { name: '429 with Retry-After', rules: ['caches: 429 retry-after 2s first 1'] },
  { name: '503 with Retry-After', rules: ['caches: 503 retry-after 2s first 1'] },
  { name: 'the director is down for 3 s', rules: ['director: down for 3s'] },
  { name: 'the director takes 5 s', rules: ['director: delay 5s'] },
  { name: 'a cache is down', rules: ['cache-1: down'] },
  {
    name: 'the token expires, then a reset',
    rules: ['caches: expire-token after 16MB first 1', 'caches: reset after 24MB first 1'],
    token: true,
  },
  { name: 'a cache lies about the size', rules: ['cache-1: wrong-size by -1000'] },
  { name: 'a cache ignores ranges', rules: ['cache-1: ignore-range', 'cache-1: reset after 16MB first 1'] },
  { name: 'a cache sends another range', rules: ['cache-1: wrong-offset by 4096'] },
  { name: 'a web page instead of data', rules: ['cache-1: html'] },
  { name: 'a cache has another version', rules: ['cache-1: changed'] },
];
