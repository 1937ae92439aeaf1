import type { AgentEntry } from './entry.ts';
import type { AgentState, StallState } from './state.ts';

/** Bytes that come are told at least this often: a shorter silence says nothing. */
const toldWithinMs = 1000;

/**
 * How long fetching has stood still, after one more entry: the time in which no byte of anything came until a server was
 * given up. `state` is from before the entry. What a server sends too slowly is not in it, nor what came in vain.
 */
export function changeStall(state: AgentState, entry: AgentEntry): StallState | undefined {
  const { stall, phase } = state;
  const since = (millis: number): StallState => ({ millis, since: entry.t });
  if (entry.kind === 'phase' && entry.phase === 'fetching') return since(stall?.millis ?? 0);
  if (stall === undefined || phase !== 'fetching') return stall;
  if (entry.kind === 'fetch-progress') return isMore(state, entry) ? since(stall.millis) : stall;
  if (entry.kind === 'fetched') return since(stall.millis);
  if (entry.kind !== 'fetch-setback') return stall;
  const stood = Date.parse(entry.t) - Date.parse(stall.since);
  return since(stall.millis + (stood > toldWithinMs ? stood : 0));
}

function isMore(
  { fetches }: AgentState,
  { object, bytes }: Extract<AgentEntry, { kind: 'fetch-progress' }>,
): boolean {
  return bytes > (fetches.find((fetch) => fetch.object === object)?.bytes ?? 0);
}
