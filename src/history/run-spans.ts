import type { Phase } from '../journal/entry.ts';
import type { AgentState, AttemptState } from '../journal/state.ts';
import type { Activity, AttemptHistory, Span } from './history.ts';

type DrawnPhase = Phase | 'stalled' | 'starved' | 'unknown';

/** The phases in the order in which they are drawn. */
const order: [DrawnPhase, Activity][] = [
  ['queued', 'queue'],
  ['preparing', 'starting'],
  ['stalled', 'stalled'],
  ['fetching', 'input'],
  ['unpacking', 'unpacking'],
  ['starved', 'starved'],
  ['training', 'executing'],
  ['saving', 'output'],
  ['returning', 'output'],
  ['cleaning', 'starting'],
  ['unknown', 'silent'],
];

/**
 * The waits and spans of an attempt from `begun` on. `keptUntil` is how much of its training has been used or may still
 * be: the rest comes after the saving, which as in a log separates what was saved from what was lost. Saving that was
 * never used is overhead.
 */
export function runSpans(
  attempt: AttemptState,
  begun: number,
  keptUntil: number | undefined,
): Pick<AttemptHistory, 'waits' | 'spans'> {
  let now = begun;
  const next = <T>(doing: T, millis: number): Span<T>[] => {
    const from = now;
    now += Math.max(0, millis);
    return now === from ? [] : [{ doing, from, to: now }];
  };
  const waits = next('idle' as const, between(attempt.waitingSince, attempt.startedAt));
  const start = now;
  const { agent, outcome } = attempt;
  const isEnded = outcome !== undefined && outcome !== 'success';
  const trained = phaseMillis(attempt, 'training');
  const unsaved = isEnded && keptUntil !== undefined ? Math.max(0, trained - keptUntil) : undefined;
  const discarded = isEnded ? 0 : Math.min(trained, agent?.work?.discarded ?? 0);
  const spans = order.flatMap(([phase, doing]): Span<Activity>[] => {
    const millis = phaseMillis(attempt, phase);
    if (phase === 'training')
      return [
        ...next(doing, discarded).map((span) => ({ ...span, failed: true as const })),
        ...next(doing, millis - discarded - (unsaved ?? 0)),
      ];
    if (phase !== 'saving') return next(doing, millis);
    if (unsaved === undefined) return next<Activity>(isEnded ? 'starting' : doing, millis);
    // At least 1 ms: the saving separates what was kept from what was lost.
    return [
      ...next(doing, Math.max(1, millis)).map((span) => ({ ...span, isCheckpoint: true })),
      ...next<Activity>('executing', unsaved),
    ];
  });
  const silence = between(attempt.startedAt, attempt.endedAt) - (now - start);
  const isSilent = agent?.outcome === undefined;
  spans.push(...next(isSilent ? ('silent' as const) : ('starting' as const), silence));
  return { waits, spans };
}

/** Fetching without progress, until a server was given up. */
const stalledMillis = (agent: AgentState | undefined): number =>
  Math.min(agent?.stall?.millis ?? 0, agent?.millis.fetching ?? 0);

/** Training that waited for data. */
function starvedMillis(agent: AgentState | undefined): number {
  const { waited = 0, waitedBefore = 0 } = agent?.training ?? {};
  return Math.min(Math.max(0, Math.round((waited + waitedBefore) * 1000)), agent?.millis.training ?? 0);
}

function phaseMillis({ agent, pool }: AttemptState, phase: DrawnPhase): number {
  if (phase === 'stalled') return stalledMillis(agent);
  if (phase === 'starved') return starvedMillis(agent);
  const isTimedByPool =
    phase === 'fetching' || phase === 'training' || phase === 'returning' || phase === 'cleaning';
  const byPool = isTimedByPool ? (pool?.millis[phase] ?? 0) : 0;
  const waited = phase === 'training' ? starvedMillis(agent) : 0;
  if (phase !== 'fetching') return (agent?.millis[phase] ?? 0) + byPool - waited;
  // The agent's journal has what its plugin fetched; the rest is what HTCondor sent itself.
  const sent = Math.max(0, byPool - (agent?.broughtMillis ?? 0));
  return (agent?.millis[phase] ?? 0) + sent - stalledMillis(agent);
}

const between = (from: string | undefined, to: string | undefined): number =>
  from === undefined || to === undefined ? 0 : Math.max(0, Date.parse(to) - Date.parse(from));
