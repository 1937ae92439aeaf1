import type { Clock } from '../base/clock.ts';

/** A server that has not answered by then gets company: it may still win. */
const raceMs = 2_000;
const stepMs = 1_000;
/** More would flood a federation whose servers are only slow. */
const maxRaced = 8;

/** How many servers may be asked at once when the first of them has been silent for so long. */
export const raceWidth = (silentMs: number): number =>
  silentMs < raceMs ? 1 : Math.min(maxRaced, Math.floor(silentMs / stepMs));

/**
 * Asks servers in order until one has an answer: the next one as soon as one has none, or has been silent for too long.
 * The first answer wins, and the requests to the others are aborted. Undefined if none has one; rejects with the first
 * error.
 */
export async function firstAnswer<Server, Answer>(
  servers: readonly Server[],
  ask: (server: Server, signal: AbortSignal) => Promise<Answer | undefined>,
  { clock, signal }: { clock: Clock; signal?: AbortSignal | undefined },
): Promise<Answer | undefined> {
  const over = new AbortController();
  const either = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
  /** Requests without an answer yet, and since when. */
  const open = new Map<Promise<Answer | undefined>, number>();
  const waiting = [...servers];
  try {
    while (open.size > 0 || waiting.length > 0) {
      const now = clock.monotonic();
      const silentMs = now - Math.min(now, ...open.values());
      if (waiting.length > 0 && open.size < raceWidth(silentMs)) {
        const [next] = waiting.splice(0, 1) as [Server];
        const asked = ask(next, either).finally(() => open.delete(asked));
        open.set(asked, now);
      } else {
        const pauseMs = silentMs < raceMs ? raceMs - silentMs : stepMs;
        const pause = waiting.length > 0 ? [clock.sleep(pauseMs, over.signal).then(() => undefined)] : [];
        const answer = await Promise.race([...open.keys(), ...pause]);
        if (answer !== undefined) return answer;
      }
    }
    return undefined;
  } finally {
    over.abort();
  }
}
