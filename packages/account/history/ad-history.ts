import { defined } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import { type Ad, type AdValue, attributeOf, isAd, parseAdLines, siteIn } from '@updraft/htcondor/classad';
import { causeOf, exitCause } from '../diagnosis/cause-of.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import type { Resource, Termination } from '@updraft/htcondor/eventlog';
import { queueHoldCodes } from './job-fold.ts';
import type {
  Evidence,
  AttemptEnd,
  AttemptHistory,
  Hold,
  JobHistory,
  Activity,
  JobOutcome,
} from './history.ts';
import { machineOf } from './worker.ts';

/** HTCondor's numbers of a job's state. */
const states: Partial<Record<number, JobOutcome>> = {
  1: 'waiting',
  2: 'running',
  3: 'removed',
  5: 'held',
  6: 'running',
  7: 'running',
};
const [runningState, heldState, transferringState, suspendedState] = [2, 5, 6, 7];

/** The ads in what `condor_q -l` or `condor_history -l` prints: `Name = value` lines, a blank line after each ad. */
export const parseLongAds = (text: string): Ad[] =>
  text
    .split(/\r?\n(?:\s*\r?\n|\*\*\* [^\n]*\n)+/)
    .map((part) => parseAdLines(part.split(/\r?\n/)))
    .filter((ad) => attributeOf(ad, 'ClusterId') !== undefined);

/** A job as its ad shows it: its state, and the last attempt. Earlier attempts are only counted there. */
export function historyOfAd(ad: Ad, file: string): JobHistory {
  const read = new JobAd(ad, file);
  const attempts = read.attempt();
  const outcome = read.outcome();
  const [from, to] = [read.time('QDate') ?? 0, read.time('EnteredCurrentStatus') ?? 0];
  const [dagNode, owner] = [read.text('DAGNodeName'), read.text('Owner')];
  const { holds, removal } = { holds: read.holds(attempts), removal: read.removal() };
  const cause = outcome === 'held' ? holds.at(-1) : undefined;
  return {
    id: `${read.number('ClusterId') ?? 0}.${read.number('ProcId') ?? 0}`,
    from,
    to,
    attempts,
    after: [],
    outcome,
    ...defined({ node: dagNode, owner, cause: cause && causeOf(cause.code, cause.subcode, cause.reason) }),
    details: {
      // An ad stands for all that has happened since the submission.
      first: { ...read.evidence },
      last: read.evidence,
      holds,
      releases: Array.from({ length: holds.length - (outcome === 'held' ? 1 : 0) }, () => ({
        reason: byNobodyKnown,
        evidence: read.evidence,
      })),
      ...(removal === undefined ? {} : { removal }),
    },
  };
}

/** An ad does not say who released the job. */
const byNobodyKnown = 'released (by user unknown)';

/** The attributes that show a job's state. */
const shown = [
  ...['JobStatus', 'HoldReason', 'HoldReasonCode', 'HoldReasonSubCode', 'NumHolds', 'RemoveReason'],
  ...['ExitCode', 'ExitBySignal', 'ExitSignal', 'VacateReason', 'VacateReasonCode', 'VacateReasonSubCode'],
  ...['LastRemoteHost', 'RemoteHost', 'NumShadowStarts'],
];

class JobAd {
  readonly #ad: Ad;
  readonly evidence: Evidence;

  constructor(ad: Ad, file: string) {
    this.#ad = ad;
    const since = this.time('EnteredCurrentStatus');
    this.evidence = {
      file,
      at: since === undefined ? '' : `${new Date(since).toISOString().slice(0, 19).replace('T', ' ')} UTC`,
      lines: shown.flatMap((name) => {
        const value = this.#value(name);
        return value === undefined || isAd(value) ? [] : [safeLine(`${name} = ${JSON.stringify(value)}`)];
      }),
    };
  }

  #value(name: string): AdValue {
    return this.#ad[name] ?? attributeOf(this.#ad, name);
  }

  text(name: string): string | undefined {
    const value = this.#value(name);
    return typeof value === 'string' ? withoutSecrets(value) : undefined;
  }

  number(name: string): number | undefined {
    const value = this.#value(name);
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  }

  /** Milliseconds since the epoch. */
  time(name: string): number | undefined {
    const seconds = this.number(name) ?? 0;
    return seconds > 0 ? seconds * 1000 : undefined;
  }

  outcome(): JobOutcome {
    const found = states[this.number('JobStatus') ?? 0];
    if (found !== undefined) return found;
    return exitCause(this.#termination(), false) === 'none' ? 'success' : 'failed';
  }

  #termination(): Termination | undefined {
    const [code, signal] = [this.number('ExitCode'), this.number('ExitSignal')];
    if (this.#value('ExitBySignal') === true && signal !== undefined) return { normal: false, signal };
    return code === undefined ? undefined : { normal: true, returnValue: code };
  }

  #resources(): Resource[] {
    const kilobytes = this.number('ResidentSetSize');
    const memory = this.number('MemoryUsage') ?? (kilobytes && Math.ceil(kilobytes / 1024));
    const row = (name: string, unit: string, usage: number | undefined): Resource[] => {
      const request = this.number(`Request${name}`);
      return usage === undefined || request === undefined ? [] : [{ name, unit, usage, request }];
    };
    return [...row('Memory', 'MB', memory), ...row('Disk', 'KB', this.number('DiskUsage'))];
  }

  /** The last attempt, if there was one. */
  attempt(): AttemptHistory[] {
    const number = this.number('NumShadowStarts') ?? this.number('NumJobStarts') ?? 0;
    const host = this.text('RemoteHost') ?? this.text('LastRemoteHost');
    const end = this.#end();
    // Ads of `-attributes` or of old versions may count no starts, though the job has exited.
    if (number === 0 && host === undefined && end?.how !== 'exited') return [];
    const [from, to] = [this.time('JobCurrentStartDate'), this.time('EnteredCurrentStatus') ?? 0];
    const termination = end?.termination;
    const cause =
      end &&
      (termination === undefined
        ? causeOf(end.code, end.subcode, end.reason)
        : exitCause(termination, false));
    return [
      {
        number: Math.max(1, number),
        waits: [],
        spans: [],
        checkpointed: false,
        gpu: '',
        resources: [],
        ending: end === undefined ? 'running' : termination === undefined ? 'evicted' : 'failed',
        ...(cause === undefined || cause === 'none' ? {} : { cause }),
        site: siteIn(this.#ad) ?? '',
        machine: machineOf(host, undefined),
        details: {
          from,
          to,
          began: this.evidence,
          doing: this.#doing(),
          saves: 0,
          reconnects: 0,
          memoryMb: this.number('MemoryUsage') ?? 0,
          ...defined({ end: end && { ...end, evidence: this.evidence } }),
        },
      },
    ];
  }

  #doing(): Activity {
    const state = this.number('JobStatus');
    return state === transferringState ? 'returning' : state === suspendedState ? 'suspended' : 'training';
  }

  #end(): AttemptEnd | undefined {
    const outcome = this.outcome();
    if (outcome === 'running') return undefined;
    const none = { code: undefined, subcode: undefined, reason: '', termination: undefined };
    const resources = this.#resources();
    if (outcome === 'success' || outcome === 'failed')
      return { ...none, how: 'exited', termination: this.#termination(), resources };
    if (outcome === 'removed') return { ...none, how: 'removed', resources };
    const names = outcome === 'held' ? 'HoldReason' : 'VacateReason';
    return {
      how: 'vacated',
      code: this.number(`${names}Code`),
      subcode: this.number(`${names}SubCode`),
      reason: this.text(names) ?? '',
      termination: undefined,
      resources,
    };
  }

  /** Only the last one has its reason in the ad. */
  holds([attempt]: readonly AttemptHistory[]): Hold[] {
    const isHeld = this.outcome() === 'held';
    const before = isHeld ? '' : 'Last';
    const reason = this.text(isHeld ? 'HoldReason' : 'LastHoldReason') ?? this.text('HoldReason');
    if (reason === undefined && !isHeld) return [];
    const code = this.number(`${before}HoldReasonCode`) ?? this.number('HoldReasonCode');
    // Where the ad does not say, most holds end an attempt.
    const status = this.number('LastJobStatus') ?? (queueHoldCodes.has(code ?? 0) ? undefined : runningState);
    const wasRunning = status === runningState;
    const hold: Hold = {
      code,
      subcode: this.number(`${before}HoldReasonSubCode`) ?? this.number('HoldReasonSubCode'),
      reason: reason ?? '',
      evidence: this.evidence,
      resources: this.#resources(),
      ...(wasRunning && attempt !== undefined ? { attempt: attempt.number } : {}),
    };
    return Array.from({ length: Math.min(Math.max(this.number('NumHolds') ?? 1, 1), 1000) }, () => hold);
  }

  removal(): { reason: string; evidence: Evidence; wasHeld: boolean } | undefined {
    if (this.outcome() !== 'removed') return undefined;
    const wasHeld = this.number('LastJobStatus') === heldState;
    return { reason: this.text('RemoveReason') ?? '', evidence: this.evidence, wasHeld };
  }
}
