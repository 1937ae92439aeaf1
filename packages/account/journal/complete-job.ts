import { defined } from '@updraft/base';
import { describeLeftOut, describePreference } from '../codes/describe-caches.ts';
import type { Cause } from '../codes/causes.ts';
import { parseGivenUp } from '../codes/given-up.ts';
import { removalCause } from '../diagnosis/cause-of.ts';
import {
  activities,
  type Activity,
  type AttemptHistory,
  type CacheShare,
  type Ending,
  type JobHistory,
  type JobOutcome,
  type Span,
  type Speed,
  type UsedResource,
} from '../history/history.ts';
import { speedsOf } from '../history/speeds.ts';
import { describeConnection } from './describe-attempt.ts';
import type { FaultRecord, Outcome, ServerShare } from './entry.ts';
import type { AttemptState, FoldedAttempt, FoldedJob, JobState } from './state.ts';
import { jobMetrics } from './training-curve.ts';
import type { AgentState, FetchState, ResumeState } from './agent-state.ts';

/** What the plan of a run knows of a job: its values of the matrix, what it requested, and how its data reaches it. */
export interface PlannedJob extends Pick<JobState, 'parameters' | 'name' | 'directions' | 'method' | 'rank'> {
  memoryBytes?: number;
  cpus?: number;
  gpus?: number;
}

export interface JobContext {
  createdAt?: string | undefined;
  planned?: PlannedJob | undefined;
  /** Accuracies that some job of the run writes as percentages. */
  percentages?: readonly string[] | undefined;
}

/**
 * A job with its history, in the same form as a job of an event log, so that both are counted and shown alike. A phase
 * that came several times is one span; only training after the last checkpoint has its own.
 */
export function completeJob(draft: FoldedJob, context: JobContext): JobState {
  const { createdAt, planned = {}, percentages } = context;
  const [first] = draft.attempts;
  const from = Date.parse(first?.waitingSince ?? first?.startedAt ?? draft.addedAt ?? createdAt ?? '') || 0;
  let now = 0;
  const used = usedWork(draft);
  const attempts = draft.attempts.map((attempt): AttemptState => {
    const history = runAttempt(attempt, now, used.get(attempt.attempt), planned);
    now = history.spans.at(-1)?.to ?? history.waits.at(-1)?.to ?? now;
    const { logged: _logged, ...rest } = attempt;
    return { ...rest, ...history };
  });
  // A job without an attempt only waited.
  const waited = first === undefined && draft.endedAt !== undefined ? Date.parse(draft.endedAt) - from : 0;
  const outcome = outcomeOf(draft);
  const { parameters, name, directions, method, rank } = planned;
  return {
    ...draft,
    from,
    to: from + Math.max(now, waited),
    attempts,
    after: [],
    outcome,
    ...whyOf(draft, outcome),
    ...defined({ parameters, name, directions, method, rank, percentages }),
    ...jobMetrics({ attempts, ...defined({ directions, percentages }) }),
  };
}

/** Why a job has no valid result, or is cut off; nothing if all is well. */
function whyOf(
  { fault, held, outcome, attempts }: FoldedJob,
  standing: JobOutcome,
): Pick<JobHistory, 'cause' | 'reason'> {
  const last = attempts.at(-1);
  const lost = standing === 'success' ? undefined : last?.pool?.disconnected;
  if (lost !== undefined) return { cause: 'disconnected', reason: describeConnection(lost) };
  if (standing === 'success' || standing === 'running' || standing === 'waiting') return {};
  const found = fault ?? held ?? faultOf(last);
  return {
    cause: causeOfFault(found, endingOf(outcome ?? 'failed')),
    ...defined({ reason: found?.message }),
  };
}

/** What went wrong in an attempt: as the access point recorded it, or else the last fault of its agent. */
const faultOf = (attempt: FoldedAttempt | undefined): FaultRecord | undefined =>
  attempt?.fault ?? attempt?.agent?.faults.at(-1);

function outcomeOf({ status, outcome = 'failed', held }: FoldedJob): JobOutcome {
  if (held !== undefined) return 'held';
  if (status !== 'ended') return status;
  if (outcome === 'stopped') return 'removed';
  return outcome === 'evicted' || outcome === 'lost' ? 'failed' : outcome;
}

/** The word for what a journal calls so. */
const endingOf = (outcome: Outcome): Ending => (outcome === 'stopped' ? 'removed' : outcome);

function causeOfFault(fault: FaultRecord | undefined, ending: Ending): Cause {
  if (fault?.cause !== undefined) return fault.cause;
  if (fault?.kind === 'interrupted' || (fault === undefined && ending === 'removed'))
    return stopCause(fault?.message ?? '');
  if (fault !== undefined) return fault.kind;
  if (ending === 'lost') return 'silent-end';
  return ending === 'evicted' ? 'evicted' : 'exit-code';
}

/** A rule may have removed it; otherwise it was a user, whatever the reason says. */
function stopCause(reason: string): Cause {
  const [cause] = removalCause(reason);
  return cause === 'unknown' ? 'user' : cause;
}

/**
 * How much training of which attempts has been used, or may still be: back from the last that trained, each attempt
 * that was resumed from, up to that checkpoint.
 */
function usedWork({ attempts, status }: FoldedJob): Map<number, number> {
  const used = new Map<number, number>();
  const last = attempts.findLast(({ agent }) => agent?.training !== undefined);
  const saved = last?.agent?.work?.saved.at(-1);
  if (status !== 'ended' && last !== undefined && saved !== undefined) used.set(last.attempt, saved.trained);
  for (let from = continuedFrom(last); from !== undefined && from.movedOn !== false;) {
    const { savedBy, epoch, step } = from;
    const saver = attempts.find(({ attempt }) => attempt === savedBy);
    const { saved: places = [] } = saver?.agent?.work ?? {};
    const place = places.findLast((one) => one.epoch === epoch && one.step === step) ?? places.at(-1);
    if (used.has(savedBy) || place === undefined) break;
    used.set(savedBy, place.trained);
    from = continuedFrom(saver);
  }
  return used;
}

/** The checkpoint of an earlier attempt whose work it has. */
const continuedFrom = ({ attempt, agent }: Partial<FoldedAttempt> = {}): ResumeState | undefined =>
  agent?.resumed?.savedBy === attempt ? agent?.resumed?.before : agent?.resumed;

function runAttempt(
  attempt: FoldedAttempt,
  begun: number,
  keptUntil: number | undefined,
  { cpus, gpus, memoryBytes }: PlannedJob,
): AttemptHistory {
  const { agent, pool, outcome, logged } = attempt;
  const ending = outcome === undefined ? 'running' : endingOf(outcome);
  const fault = faultOf(attempt);
  const cause = outcome === undefined ? undefined : causeOfFault(fault, ending);
  return {
    number: attempt.attempt,
    ...runSpans(attempt, begun, keptUntil),
    ending,
    checkpointed: false,
    caches: [...cacheShares(attempt), ...givenUpShares(attempt)],
    stalls: stallsOf(attempt),
    resources: usedResources(attempt, memoryBytes),
    ...(outcome === 'success' ? {} : defined({ cause, fault })),
    ...defined({ cpus, gpus, agent, receivedBytes: logged?.receivedBytes, sentBytes: logged?.sentBytes }),
    site: agent?.site ?? pool?.site ?? logged?.site ?? '',
    machine: agent?.host ?? pool?.host ?? logged?.machine ?? '',
    gpu: [...new Set(agent?.gpus)].sort().join(', '),
    speed: speedOf(agent),
  };
}

/** The activities in the order in which they are drawn. */
const order = Object.keys(activities) as Activity[];

/**
 * The waits and spans of an attempt from `begun` on. `keptUntil` is how much of its training has been used or may still
 * be: the rest comes after the saving, which as in a log separates what was saved from what was lost. Saving that was
 * never used is overhead. Of an attempt whose agent never reported, the pool's log has them.
 */
export function runSpans(
  attempt: FoldedAttempt,
  begun: number,
  keptUntil: number | undefined,
): Pick<AttemptHistory, 'waits' | 'spans'> {
  let now = begun;
  const next = <T>(doing: T, millis: number): Span<T>[] => {
    const from = now;
    now += Math.max(0, millis);
    return now === from ? [] : [{ doing, from, to: now }];
  };
  const waited = between(attempt.waitingSince, attempt.startedAt);
  // As far as the pool says so.
  const held = Math.min(waited, millisOf(attempt.logged?.waits, 'held'));
  const waits = [...next('held' as const, held), ...next('idle' as const, waited - held)];
  const start = now;
  const { agent, outcome, logged } = attempt;
  if (agent === undefined && logged !== undefined) {
    const shift = now - (logged.spans[0]?.from ?? 0);
    const spans = logged.spans.map((span) => ({ ...span, from: span.from + shift, to: span.to + shift }));
    return { waits, spans };
  }
  const isEnded = outcome !== undefined && outcome !== 'success';
  const trained = activityMillis(attempt, 'training');
  const unsaved = isEnded && keptUntil !== undefined ? Math.max(0, trained - keptUntil) : undefined;
  const discarded = isEnded ? 0 : Math.min(trained, agent?.work?.discarded ?? 0);
  const spans = order.flatMap((doing): Span<Activity>[] => {
    const millis = activityMillis(attempt, doing);
    if (doing === 'training')
      return [
        ...next(doing, discarded).map((span) => ({ ...span, failed: true as const })),
        ...next(doing, millis - discarded - (unsaved ?? 0)),
      ];
    if (doing !== 'saving') return next(doing, millis);
    if (unsaved === undefined) return next<Activity>(isEnded ? 'cleaning' : doing, millis);
    // At least 1 ms: the saving separates what was kept from what was lost.
    return [
      ...next(doing, Math.max(1, millis)).map((span) => ({ ...span, isCheckpoint: true })),
      ...next<Activity>('training', unsaved),
    ];
  });
  const silence = between(attempt.startedAt, attempt.endedAt) - (now - start);
  const isSilent = agent?.outcome === undefined;
  spans.push(...next<Activity>(isSilent ? 'unknown' : 'cleaning', silence));
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

function activityMillis({ agent, pool, logged, endedAt }: FoldedAttempt, doing: Activity): number {
  if (doing === 'stalled') return stalledMillis(agent);
  if (doing === 'starved') return starvedMillis(agent);
  if (doing === 'suspended' || doing === 'cut-off') return 0;
  const own = agent?.millis[doing] ?? 0;
  if (doing === 'training') return own - starvedMillis(agent);
  if (doing === 'returning') return own + millisOf(logged?.spans, doing);
  if (doing === 'cleaning') return own + (pool?.phase === doing ? between(pool.since, endedAt) : 0);
  if (doing !== 'fetching') return own;
  // The agent's journal has what its plugin fetched; the rest is what HTCondor sent itself.
  const sent = millisOf(logged?.spans, 'queued') + millisOf(logged?.spans, doing);
  return own + Math.max(0, sent - (agent?.broughtMillis ?? 0)) - stalledMillis(agent);
}

const millisOf = <T>(spans: readonly Span<T>[] = [], wanted: T): number =>
  spans.reduce((sum, { doing, from, to }) => sum + (doing === wanted ? to - from : 0), 0);

const between = (from: string | undefined, to: string | undefined): number =>
  from === undefined || to === undefined ? 0 : Math.max(0, Date.parse(to) - Date.parse(from));

const speedOf = (agent: AgentState | undefined): Speed =>
  agent === undefined ? {} : { ...defined({ driver: agent.driver }), ...speedsOf(agent) };

function stallsOf(attempt: FoldedAttempt): number {
  const { agent, fault } = attempt;
  if (agent === undefined && fault?.kind === 'transfer-stalled')
    return givenUpShares(attempt).reduce((sum, { setbacks }) => sum + setbacks, 0);
  return (agent?.fetches ?? []).reduce((sum, { setbacks }) => sum + setbacks.filter(isStall).length, 0);
}
const isStall = ({ fault }: { fault: FaultRecord }): boolean => fault.kind === 'transfer-stalled';

/** What each server sent to an attempt, and how often it was given up. Until a fetch ends, only one server is known. */
const cacheShares = ({ agent, outcome }: FoldedAttempt): CacheShare[] =>
  (agent?.fetches ?? []).flatMap((fetch) => sharesOf(fetch, outcome === undefined && !fetch.done));

/** If the input did not arrive, no agent ran: the reason of the hold names the servers that the plugin gave up. */
const givenUpShares = ({ agent, fault }: FoldedAttempt): CacheShare[] =>
  agent !== undefined || fault === undefined
    ? []
    : parseGivenUp(fault.message).map(({ server: name, times: setbacks }) => ({
        name,
        bytes: 0,
        seconds: 0,
        setbacks,
      }));

function sharesOf(fetch: FetchState, isLive: boolean): CacheShare[] {
  const { done, server, servers, bytes, rate, seconds = 0, setbacks, leftOut = [] } = fetch;
  const isSingle = server !== '' && !server.includes(',');
  const sources: ServerShare[] = done ? (servers ?? []) : isSingle ? [{ server, bytes }] : [];
  const none = { bytes: 0, seconds: 0, setbacks: 0 };
  const shares = new Map<string, CacheShare>(
    sources.map(({ server: name, bytes: sent, preferredBy: by, warmBytes, coldBytes }) => [
      name,
      {
        ...none,
        name,
        bytes: sent,
        seconds: done ? seconds : 0,
        ...(isLive && { rate }),
        ...(by === undefined ? {} : { wanted: describePreference(by) }),
        ...defined({ warmBytes, coldBytes }),
      },
    ]),
  );
  for (const { server: name, fault } of setbacks) {
    const share = shares.get(name) ?? { ...none, name };
    shares.set(name, { ...share, setbacks: share.setbacks + 1, lastSetback: fault.kind });
  }
  const others = leftOut.map((one) => ({ ...none, name: one.server, wanted: describeLeftOut(one) }));
  return [...shares.values(), ...others];
}

const megabyte = 1e6;

/** What the pool measured, which sees the entire job all the time; or else the peak memory that the agent saw. */
function usedResources({ agent, logged }: FoldedAttempt, memoryBytes: number | undefined): UsedResource[] {
  // Zero means that the attempt was too short to be measured.
  const measured = (logged?.resources ?? []).filter(({ usage }) => usage > 0);
  const used = agent?.peakMemoryBytes;
  if (used === undefined || memoryBytes === undefined || measured.some(({ name }) => name === 'Memory'))
    return measured;
  const inMegabytes = (bytes: number) => Math.ceil(bytes / megabyte);
  const seen = { name: 'Memory', unit: 'MB', usage: inMegabytes(used), request: inMegabytes(memoryBytes) };
  return [...measured, seen];
}
