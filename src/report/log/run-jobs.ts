import type { FaultRecord, Outcome, Phase } from '../../journal/entry.ts';
import type { AttemptState, JobState, RunState } from '../../journal/state.ts';
import { causes, type Cause } from './causes.ts';
import type { Doing, Ending, JobOutcome, LoggedAttempt, LoggedJob, Span } from './history.ts';

/**
 * A run's own jobs in the form of logged ones, so that both are accounted for and shown alike. How long each phase took
 * is the journal's; where a phase came several times it is drawn as one.
 */
export function runJobs(state: RunState): LoggedJob[] {
  return state.jobs.map(runJob);
}

function runJob(job: JobState): LoggedJob {
  const from = Date.parse(job.attempts[0]?.waitingSince ?? job.attempts[0]?.startedAt ?? '') || 0;
  let now = 0;
  const attempts = job.attempts.map((attempt) => {
    const logged = runAttempt(attempt, now);
    now = logged.spans.at(-1)?.to ?? logged.waits.at(-1)?.to ?? now;
    return logged;
  });
  const outcome = outcomeOf(job);
  const fault = job.held ?? job.attempts.at(-1)?.fault;
  return {
    ...{ id: job.id, from, to: from + now, attempts, after: [], outcome },
    ...(outcome === 'success' || outcome === 'running' || outcome === 'waiting'
      ? {}
      : { cause: causeOf(fault, outcome) }),
    ...(fault === undefined ? {} : { reason: fault.message }),
  };
}

function outcomeOf({ status, outcome, held }: JobState): JobOutcome {
  if (held !== undefined) return 'held';
  if (status !== 'ended') return status;
  return outcome === undefined ? 'failed' : jobOutcomes[outcome];
}

const jobOutcomes: Record<Outcome, JobOutcome> = {
  success: 'success',
  'wrong-output': 'wrongOutput',
  failed: 'failed',
  evicted: 'failed',
  stopped: 'removed',
  lost: 'failed',
};

const endings: Record<Outcome, Ending> = {
  success: 'success',
  'wrong-output': 'wrong-output',
  failed: 'failed',
  evicted: 'evicted',
  stopped: 'removed',
  lost: 'lost',
};

function causeOf(fault: FaultRecord | undefined, ending: Ending | JobOutcome): Cause {
  if (fault !== undefined && fault.kind in causes) return fault.kind as Cause;
  if (ending === 'removed') return 'user';
  if (ending === 'lost') return 'lost';
  return fault?.kind === 'training-failed' ? 'exit-code' : 'other';
}

function runAttempt(attempt: AttemptState, begun: number): LoggedAttempt {
  const { agent, pool, outcome } = attempt;
  let now = begun;
  const next = <T>(doing: T, millis: number): Span<T>[] => {
    const from = now;
    now += Math.max(0, millis);
    return now === from ? [] : [{ doing, from, to: now }];
  };
  const waits = next('idle' as const, between(attempt.waitingSince, attempt.startedAt));
  const start = now;
  const spans = order.flatMap(([phase, doing]) => next(doing, phaseMillis(attempt, phase)));
  const silence = between(attempt.startedAt, attempt.endedAt) - (now - start);
  spans.push(...next(agent?.outcome === undefined ? ('silent' as const) : ('starting' as const), silence));
  const ending = outcome === undefined ? 'running' : endings[outcome];
  const caches = (agent?.fetches ?? []).flatMap(({ server, bytes, seconds = 0, done }) =>
    done && seconds > 0 && server !== '' ? [{ name: server, bytesPerSecond: bytes / seconds }] : [],
  );
  return {
    ...{ number: attempt.attempt, waits, spans, ending, checkpointed: false, caches, resources: [] },
    ...(ending === 'success' || ending === 'running' ? {} : { cause: causeOf(attempt.fault, ending) }),
    site: agent?.site ?? pool?.site ?? '',
    machine: agent?.host ?? pool?.host ?? '',
  };
}

const order: [Phase | 'unknown', Doing][] = [
  ['queued', 'queue'],
  ['preparing', 'starting'],
  ['fetching', 'input'],
  ['unpacking', 'input'],
  ['training', 'executing'],
  ['saving', 'output'],
  ['returning', 'output'],
  ['cleaning', 'starting'],
  ['unknown', 'silent'],
];

function phaseMillis({ agent, pool }: AttemptState, phase: Phase | 'unknown'): number {
  const moved = phase === 'fetching' || phase === 'returning' ? (pool?.millis[phase] ?? 0) : 0;
  return (agent?.millis[phase] ?? 0) + moved;
}

const between = (from: string | undefined, to: string | undefined): number =>
  from === undefined || to === undefined ? 0 : Math.max(0, Date.parse(to) - Date.parse(from));
