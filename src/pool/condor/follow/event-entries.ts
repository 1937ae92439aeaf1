import { exitOfHold, faultOfHold, type Hold } from '../../../codes/codes.ts';
import type { EventOf, LogEvent } from '../../../eventlog/events.ts';
import { liveMark, resultsFolder } from '../../../job/layout.ts';
import { decode, isAgentEntry } from '../../../journal/codec.ts';
import type { AgentEntry, Entry, FaultRecord, Outcome, RunBody } from '../../../journal/entry.ts';
import { retryReason } from '../tools/release-held.ts';
import type { Known } from './run-clusters.ts';

/** Whether a job held for this, when so many of its attempts have failed, will be released by the rules of its run. */
export interface ReleaseRule {
  /** `heldAfter`: seconds since the job was queued. */
  willRelease(hold: Hold, failures: number, heldAfter: number): boolean;
}

/** What the log has told of one job so far. */
interface Story {
  job: string;
  /** HTCondor's name of the job; it gets another one when it is submitted again. */
  cluster: number;
  attempt: number;
  /** What the attempt that is under way was last seen doing; undefined between attempts. */
  doing: 'moving' | 'executing' | undefined;
  /** When it was submitted, where the log tells. */
  queuedAt: number | undefined;
  /** Attempts that failed; those the pool took away do not count. */
  failures: number;
  /** Whether its program ended well; its results are here then. */
  isDone: boolean;
  /** Why the next attempt will be made. */
  why: string;
  /** The time of the last event, how many there were at that time, and how many of them are still to be told again. */
  last: { time: number; events: number; again: number };
}

/** HTCondor's code of a hold by hand. */
const userHold = 1;
/** HTCondor's code for an attempt that ended because its job was removed. */
const removed = 1023;

/**
 * Turns HTCondor's events into journal entries: the same events give the same entries, so nothing needs to be
 * written down. An attempt is what HTCondor calls a shadow start; it begins with the first sign of it.
 *
 *   000 -> waiting   040 input/001 -> attempt, phases, place   004/007 -> attempt ended   012/013 -> held/released
 *   005/009 -> attempt and job ended      008 with our mark -> what the agent said while it ran
 */
export class EventEntries {
  readonly #rules: ReleaseRule;
  readonly #stories = new Map<string, Story>();
  readonly #whose: (cluster: number, proc: number) => Known;
  readonly #sizeOf: (cluster: number) => number;
  #entries: Entry[] = [];
  #seq = 0;
  #lastTime = 0;
  #headless = false;

  /** `sizeOf` tells how many jobs a cluster has when all are in the queue. */
  constructor(
    rules: ReleaseRule,
    whose: (cluster: number, proc: number) => Known,
    sizeOf: (cluster: number) => number,
  ) {
    this.#rules = rules;
    this.#whose = whose;
    this.#sizeOf = sizeOf;
  }

  /** The entries of the events added since the last call. */
  take(): Entry[] {
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }

  /** Whether a job's first event was not its submission: the log has lost its beginning. */
  get headless(): boolean {
    return this.#headless;
  }

  /** The log begins anew: what it tells again is known, what it does not tell any more is kept. */
  beginAgain(): void {
    for (const { last } of this.#stories.values()) last.again = last.events;
  }

  /** `at`: when it was, if that is not as the log's own zone would have it. */
  add(event: LogEvent, at = event.time): void {
    if (event.kind === 'cluster-remove') this.#removed(event, at);
    if (event.proc < 0) return;
    const { job, round } = this.#whose(event.cluster, event.proc);
    let story = this.#stories.get(job);
    if (story === undefined) {
      story = newStory(job, event.cluster);
      this.#stories.set(job, story);
      this.#headless ||= event.kind !== 'submit';
    }
    const time = at ?? this.#lastTime;
    if (isKnown(story, time)) return;
    this.#lastTime = time;
    if (event.cluster > story.cluster) this.#again(story, event.cluster, round);
    if (event.cluster === story.cluster) this.#addTo(story, event);
  }

  /** Jobs that were not in the queue yet when their cluster left it will never be. */
  #removed({ cluster, details }: EventOf<'cluster-remove'>, at: number | undefined): void {
    if (details.completion === 'complete') return;
    this.#lastTime = at ?? this.#lastTime;
    for (let proc = details.jobs ?? Infinity; proc < this.#sizeOf(cluster); proc++) {
      const { job } = this.#whose(cluster, proc);
      if ((this.#stories.get(job)?.cluster ?? 0) < cluster)
        this.#emit({ kind: 'job-ended', job, outcome: 'stopped' });
    }
  }

  /** The job was submitted again: its attempts go on, and what befell it before no longer counts. */
  #again(story: Story, cluster: number, round: number): void {
    story.cluster = cluster;
    story.doing = undefined;
    story.failures = 0;
    story.isDone = false;
    story.why = `submitted again, in round ${round}`;
    this.#emit({ kind: 'round-started', round, jobs: [story.job], why: story.why });
  }

  #addTo(story: Story, event: LogEvent): void {
    switch (event.kind) {
      case 'submit':
        story.queuedAt = this.#lastTime;
        return;
      case 'file-transfer':
        this.#transfer(story, event);
        return;
      case 'execute':
        this.#execute(story, event);
        return;
      case 'evicted':
        this.#evicted(story, event);
        return;
      case 'shadow-exception':
        this.#end(story, 'lost', null, { kind: 'evicted', message: event.details.message });
        return;
      case 'held':
        this.#held(story, event);
        return;
      case 'released':
        story.why = `released: ${event.details.reason ?? ''}`;
        if (event.details.reason?.includes(retryReason)) story.failures = 0;
        this.#emit({ kind: 'job-released', job: story.job, why: event.details.reason ?? '' });
        return;
      case 'terminated':
        this.#terminated(story, event);
        return;
      case 'aborted':
        this.#aborted(story, event.details.reason ?? 'removed from the queue');
        return;
      case 'generic':
        this.#said(story, event.details.text);
        return;
      default:
        return;
    }
  }

  #transfer(story: Story, { details }: EventOf<'file-transfer'>): void {
    const { direction, step } = details;
    if (direction === 'input' && step !== 'finished') {
      if (story.doing === 'executing') this.#lost(story);
      this.#start(story);
      this.#phase(story, 'fetching');
    } else if (story.doing !== undefined) {
      if (direction === 'input') this.#phase(story, 'preparing');
      else this.#phase(story, step === 'finished' ? 'cleaning' : 'returning');
    }
  }

  #execute(story: Story, { details }: EventOf<'execute'>): void {
    if (story.doing === 'executing') this.#lost(story);
    this.#start(story);
    story.doing = 'executing';
    const { attributes, slot } = details;
    const host = slot?.split('@').at(-1) ?? textOf(attributes['Machine']);
    const site = textOf(attributes['GLIDEIN_ResourceName']) ?? textOf(attributes['GLIDEIN_Site']);
    this.#phase(story, 'preparing', {
      ...(host === undefined ? {} : { host }),
      ...(site === undefined ? {} : { site }),
    });
  }

  #evicted(story: Story, { details }: EventOf<'evicted'>): void {
    const { requeued, termination, code = 0, subcode = 0, reason = '' } = details;
    if (requeued) {
      const exit = termination?.normal === true ? termination.returnValue : null;
      story.failures += 1;
      this.#end(story, exit === null ? 'lost' : 'failed', exit);
      return;
    }
    if (code === removed) return; // the event that follows says by whom
    const isHold = code > 0 && code < 1000;
    this.#end(story, isHold ? 'failed' : 'evicted', null, faultOfHold(code, subcode, reason));
  }

  #held(story: Story, { details }: EventOf<'held'>): void {
    const { code = 0, subcode = 0, reason = '' } = details;
    const fault = faultOfHold(code, subcode, reason);
    this.#end(story, 'failed', exitOfHold(code, subcode, reason) ?? null, fault);
    if (code !== userHold) story.failures += 1;
    this.#emit({ kind: 'job-held', job: story.job, fault });
    // A person's hold waits for that person; any other that no rule will release is the end.
    const hold = { code, subcode, reason };
    if (code !== userHold && !this.#rules.willRelease(hold, story.failures, this.#ageOf(story)))
      this.#emit({ kind: 'job-ended', job: story.job, outcome: 'failed' });
  }

  #ageOf({ queuedAt }: Story): number {
    return queuedAt === undefined ? 0 : (this.#lastTime - queuedAt) / 1000;
  }

  #terminated(story: Story, { details }: EventOf<'terminated'>): void {
    const { termination } = details;
    if (story.doing === undefined) this.#start(story);
    const exit = termination?.normal === true ? termination.returnValue : null;
    const outcome = exit === 0 ? 'success' : exit === null ? 'lost' : 'failed';
    const fault: FaultRecord | undefined =
      exit === null
        ? { kind: 'evicted', message: `the agent was ended by signal ${signalOf(termination)}` }
        : undefined;
    this.#end(story, outcome, exit, fault);
    story.isDone = outcome === 'success';
    this.#emit({
      kind: 'job-ended',
      job: story.job,
      outcome,
      ...(outcome === 'success' && { results: resultsFolder('.', story.job) }),
    });
  }

  #aborted(story: Story, reason: string): void {
    // Asked for while the results were on their way: they came all the same.
    if (story.isDone) return;
    this.#end(story, 'stopped', null, { kind: 'interrupted', message: reason });
    this.#emit({ kind: 'job-ended', job: story.job, outcome: 'stopped' });
  }

  #said(story: Story, text: string): void {
    if (!text.startsWith(liveMark)) return;
    const entry = decode(text.slice(liveMark.length).trim());
    if (typeof entry === 'string' || !isAgentEntry(entry)) return;
    this.#entries.push({ ...entry, job: story.job } satisfies AgentEntry);
  }

  #start(story: Story): void {
    if (story.doing !== undefined) return;
    story.doing = 'moving';
    story.attempt += 1;
    const { job, attempt, why } = story;
    this.#emit({ kind: 'attempt-started', job, attempt, why });
  }

  /** Killing a shadow leaves no event: the next start is the only sign of it. */
  #lost(story: Story): void {
    this.#end(story, 'lost', null, {
      kind: 'evicted',
      message: 'the attempt ended without a word in the log',
    });
  }

  #end(story: Story, outcome: Outcome, exit: number | null, fault?: FaultRecord): void {
    if (story.doing === undefined) return;
    story.doing = undefined;
    const { job, attempt } = story;
    story.why = `attempt ${attempt} ended as ${outcome}${fault === undefined ? '' : `: ${fault.message}`}`;
    this.#emit({
      kind: 'attempt-ended',
      job,
      attempt,
      outcome,
      exit,
      ...(fault === undefined ? {} : { fault }),
    });
  }

  #phase(
    { job, attempt }: Story,
    phase: 'fetching' | 'preparing' | 'returning' | 'cleaning',
    place: { host?: string; site?: string } = {},
  ): void {
    this.#emit({ kind: 'attempt-phase', job, attempt, phase, ...place });
  }

  #emit(body: RunBody): void {
    const t = new Date(this.#lastTime).toISOString();
    this.#entries.push({ v: 1, t, seq: this.#seq++, ...body });
  }
}

const newStory = (job: string, cluster: number): Story => ({
  job,
  cluster,
  attempt: 0,
  doing: undefined,
  queuedAt: undefined,
  failures: 0,
  isDone: false,
  why: 'first attempt',
  last: { time: 0, events: 0, again: 0 },
});

/** Whether a log that began anew only repeats this event. A job's events are in the order of their times. */
function isKnown({ last }: Story, time: number): boolean {
  if (last.again > 0 && time < last.time) return true;
  if (last.again > 0 && time === last.time) {
    last.again -= 1;
    return true;
  }
  last.events = time === last.time ? last.events + 1 : 1;
  last.time = time;
  last.again = 0;
  return false;
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

function signalOf(termination: EventOf<'terminated'>['details']['termination']): string {
  return termination?.normal === false ? String(termination.signal) : 'unknown';
}
