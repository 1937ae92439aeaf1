import { defined } from '@updraft/base';
import { describeLeftOut, describePreference } from '../codes/describe-caches.ts';
import type { Cause } from '../codes/causes.ts';
import { parseGivenUp } from '../codes/given-up.ts';
import { removalCause } from '../diagnosis/cause-of.ts';
import { savesOf } from '../journal/fold-agent.ts';
import { jobMetrics } from '../journal/training-curve.ts';
import { describeConnection } from '../journal/describe-attempt.ts';
import type { FaultRecord, ServerShare } from '../journal/entry.ts';
import type {
  AgentState,
  AttemptState,
  FetchState,
  JobState,
  ResumeState,
  RunState,
} from '../journal/state.ts';
import type {
  AttemptHistory,
  CacheShare,
  Ending,
  JobHistory,
  JobOutcome,
  Speed,
  UsedResource,
} from './history.ts';
import { ofOutcome } from './endings.ts';
import { runSpans } from './run-spans.ts';

/** What a job requested, and how its data reaches it. */
export interface PlannedJob {
  memoryBytes: number;
  gpus?: number;
  /** Empty without data. */
  method?: string;
  /** The number of its combination in the order of the job file. */
  rank?: number;
}

/** What is known about a run besides its journals. */
export interface RunContext {
  plannedFor?: ((job: string) => PlannedJob | undefined) | undefined;
  /** Its jobs, read from HTCondor's log, if it runs there. */
  logged?: readonly JobHistory[] | undefined;
}

/**
 * The jobs of a run in the same form as jobs of an event log, so that both are counted and shown alike. A phase that
 * came several times is one span; only training after the last checkpoint has its own. They come in the order of the
 * job file, as tables need them, and not in that of the queue, where values take turns.
 */
export function runJobs(state: RunState, context: RunContext = {}): JobHistory[] {
  const ranked = state.jobs.map((job) => ({ job, rank: context.plannedFor?.(job.id)?.rank ?? 0 }));
  const jobs = ranked.sort((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank)).map(({ job }) => job);
  return jobs.map((job) => ({
    ...runJob(job, state.createdAt, context),
    trained: defined({
      parameters: job.parameters,
      name: job.name,
      directions: job.directions,
      ...jobMetrics(job),
    }),
  }));
}

/** One job of a run, without what its training measured. */
export function runJob(job: JobState, createdAt?: string, context: RunContext = {}): JobHistory {
  const [first] = job.attempts;
  const from = Date.parse(first?.waitingSince ?? first?.startedAt ?? createdAt ?? '') || 0;
  const planned = context.plannedFor?.(job.id);
  let now = 0;
  const used = usedWork(job);
  const attempts = job.attempts.map((attempt) => {
    const history = runAttempt(attempt, now, used.get(attempt.attempt), planned);
    now = history.spans.at(-1)?.to ?? history.waits.at(-1)?.to ?? now;
    return history;
  });
  // A job without an attempt only waited.
  const waited = first === undefined && job.endedAt !== undefined ? Date.parse(job.endedAt) - from : 0;
  const outcome = outcomeOf(job);
  const fault = job.fault ?? job.held ?? faultOf(job.attempts.at(-1));
  const lost = job.attempts.at(-1)?.pool?.disconnected;
  const isOver = outcome !== 'success' && outcome !== 'running' && outcome !== 'waiting';
  return {
    id: job.id,
    from,
    to: from + Math.max(now, waited),
    attempts,
    after: [],
    outcome,
    ...defined({ holds: job.holds, method: planned?.method }),
    ...(isOver ? defined({ cause: causeOfJob(job), reason: fault?.message }) : {}),
    ...(lost && { cause: 'disconnected' as const, reason: describeConnection(lost) }),
  };
}

/** Why a job failed, or waits again; undefined if nothing is wrong. */
export function causeOfJob(job: JobState): Cause | undefined {
  const outcome = outcomeOf(job);
  if (outcome === 'success') return undefined;
  const last = job.attempts.at(-1);
  if (last?.pool?.disconnected !== undefined) return 'disconnected';
  if (outcome === 'running' || outcome === 'waiting') return last && causeOfAttempt(last);
  return causeOfFault(job.fault ?? job.held ?? faultOf(last), endingOf(job));
}

/** Why an attempt failed; undefined if it succeeded or has not ended. */
export function causeOfAttempt(attempt: AttemptState): Cause | undefined {
  const { outcome } = attempt;
  return outcome === undefined || outcome === 'success'
    ? undefined
    : causeOfFault(faultOf(attempt), ofOutcome[outcome].ending);
}

/** What went wrong in an attempt: as the access point recorded it, or else the last fault of its agent. */
export const faultOf = (attempt: AttemptState | undefined): FaultRecord | undefined =>
  attempt?.fault ?? attempt?.agent?.faults.at(-1);

function outcomeOf({ status, outcome, held }: JobState): JobOutcome {
  if (held !== undefined) return 'held';
  if (status !== 'ended') return status;
  return outcome === undefined ? 'failed' : ofOutcome[outcome].job;
}

const endingOf = ({ outcome }: JobState): Ending =>
  outcome === undefined ? 'failed' : ofOutcome[outcome].ending;

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
function usedWork({ attempts, status }: JobState): Map<number, number> {
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
const continuedFrom = ({ attempt, agent }: Partial<AttemptState> = {}): ResumeState | undefined =>
  agent?.resumed?.savedBy === attempt ? agent?.resumed?.before : agent?.resumed;

function runAttempt(
  attempt: AttemptState,
  begun: number,
  keptUntil: number | undefined,
  planned: PlannedJob | undefined,
): AttemptHistory {
  const { agent, pool, outcome } = attempt;
  const ending = outcome === undefined ? 'running' : ofOutcome[outcome].ending;
  return {
    number: attempt.attempt,
    ...runSpans(attempt, begun, keptUntil),
    ending,
    checkpointed: false,
    caches: [...cacheShares(attempt), ...givenUpShares(attempt)],
    stalls: stallsOf(attempt),
    resources: usedMemory(agent, planned),
    ...(outcome === 'success' ? {} : defined({ cause: causeOfAttempt(attempt), fault: faultOf(attempt) })),
    ...defined({ gpus: planned?.gpus, saved: savedBy(agent) }),
    site: agent?.site ?? pool?.site ?? '',
    machine: agent?.host ?? pool?.host ?? '',
    gpu: [...new Set(agent?.gpus)].sort().join(', '),
    speed: speedOf(agent),
  };
}

function savedBy(agent: AgentState | undefined): AttemptHistory['saved'] {
  const saved = savesOf(agent?.training);
  return saved && { ...saved, ...defined({ every: agent?.training?.saveEvery }) };
}

function speedOf(agent: AgentState | undefined): Speed {
  const { epochSeconds, samplesPerSecond } = agent?.training?.pace ?? {};
  const gpuUse = agent?.gpuUse && agent.gpuUse.percent / 100;
  return defined({ driver: agent?.driver, gpuUse, samplesPerSecond, epochSeconds });
}

function stallsOf(attempt: AttemptState): number {
  const { agent, fault } = attempt;
  if (agent === undefined && fault?.kind === 'transfer-stalled')
    return givenUpShares(attempt).reduce((sum, { setbacks }) => sum + setbacks, 0);
  return (agent?.fetches ?? []).reduce((sum, { setbacks }) => sum + setbacks.filter(isStall).length, 0);
}
const isStall = ({ fault }: { fault: FaultRecord }): boolean => fault.kind === 'transfer-stalled';

/** What each server sent to an attempt, and how often it was given up. Until a fetch ends, only one server is known. */
const cacheShares = ({ agent, outcome }: AttemptState): CacheShare[] =>
  (agent?.fetches ?? []).flatMap((fetch) => sharesOf(fetch, outcome === undefined && !fetch.done));

/** If the input did not arrive, no agent ran: the reason of the hold names the servers that the plugin gave up. */
const givenUpShares = ({ agent, fault }: AttemptState): CacheShare[] =>
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

/** Peak memory of an attempt, and its request. */
function usedMemory(agent: AgentState | undefined, planned: PlannedJob | undefined): UsedResource[] {
  const used = agent?.peakMemoryBytes;
  if (used === undefined || planned === undefined) return [];
  const inMegabytes = (bytes: number) => Math.ceil(bytes / megabyte);
  return [
    { name: 'Memory', unit: 'MB', usage: inMegabytes(used), request: inMegabytes(planned.memoryBytes) },
  ];
}
