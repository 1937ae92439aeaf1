import type { AgentState, FetchState } from '../../journal/state.ts';
import type { CacheShare } from '../../history/history.ts';

/** What each server gave to an attempt, and how often it was given up; of several at once only a finished fetch tells. */
export const cacheShares = (agent: AgentState | undefined): CacheShare[] =>
  (agent?.fetches ?? []).flatMap(sharesOf);

function sharesOf({ done, server, servers, bytes, seconds = 0, setbacks }: FetchState): CacheShare[] {
  const isOne = server !== '' && !server.includes(',');
  const given = done ? (servers ?? []) : isOne ? [{ server, bytes }] : [];
  const shares = new Map<string, CacheShare>(
    given.map((one) => [
      one.server,
      { name: one.server, bytes: one.bytes, seconds: done ? seconds : 0, setbacks: 0 },
    ]),
  );
  for (const { server: name } of setbacks) {
    const share = shares.get(name) ?? { name, bytes: 0, seconds: 0, setbacks: 0 };
    shares.set(name, { ...share, setbacks: share.setbacks + 1 });
  }
  return [...shares.values()];
}
