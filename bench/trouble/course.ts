/** One obstacle: what goes wrong while an object that three caches hold is fetched. */
export interface Obstacle {
  name: string;
  rules: string[];
  /** The object needs a token, which is renewed every second, as HTCondor does. */
  token?: boolean;
}

/**
 * Each fault that the mini federation can simulate, once, for an object of this many bytes; `seconds` scales all
 * durations.
 */
export function troubleCourse(bytes: number, seconds = 1): Obstacle[] {
  const at = (part: number): string => String(Math.floor(bytes * part));
  const [quarter, time] = [at(1 / 4), (count: number): string => `${count * seconds * 1000}ms`];
  const after = `retry-after ${Math.ceil(2 * seconds)}s`;
  return [
    { name: 'none', rules: [] },
    { name: 'a cache stalls', rules: [`cache-1: stall after ${quarter}`] },
    { name: 'a cache gives 100 kB/s', rules: ['cache-1: slow 100kB/s'] },
    { name: 'a connection is reset', rules: [`cache-1: reset after ${quarter} first 1`] },
    {
      name: 'a body is cut, the trailer says so',
      rules: [`cache-1: truncate after ${quarter} with trailer first 1`],
    },
    {
      name: 'a body is cut, nothing says so',
      rules: [`cache-1: truncate after ${quarter} without trailer first 1`],
    },
    {
      name: 'a body is shorter than its length',
      rules: [`cache-1: truncate after ${quarter} with length first 1`],
    },
    { name: 'a cache damages a byte', rules: [`cache-1: corrupt at ${at(1 / 3)}`] },
    { name: 'a burst of 404', rules: ['caches: 404 first 2'] },
    { name: '429 with Retry-After', rules: [`caches: 429 ${after} first 1`] },
    { name: '503 with Retry-After', rules: [`caches: 503 ${after} first 1`] },
    { name: 'the director is down for 3 s', rules: [`director: down for ${time(3)}`] },
    { name: 'the director takes 5 s', rules: [`director: delay ${time(5)}`] },
    { name: 'a cache is down', rules: ['cache-1: down'] },
    {
      name: 'the token expires, then a reset',
      rules: [`caches: expire-token after ${quarter} first 1`, `caches: reset after ${at(3 / 8)} first 1`],
      token: true,
    },
    { name: 'a cache lies about the size', rules: ['cache-1: wrong-size by -1000'] },
    {
      name: 'a cache ignores ranges',
      rules: ['cache-1: ignore-range', `cache-1: reset after ${quarter} first 1`],
    },
    { name: 'a cache sends another range', rules: ['cache-1: wrong-offset by 4096'] },
    { name: 'a web page instead of data', rules: ['cache-1: html'] },
    { name: 'a cache has another version', rules: ['cache-1: changed'] },
  ];
}
