import type { EventOf, LogEvent } from '../eventlog/events.ts';
import type { Evidence } from '../diagnosis/explanation.ts';
import type { Account, AttemptEnd, Doing, JobStory, StoryAttempt } from '../diagnosis/job-story.ts';
import { quoteEvent } from '../diagnosis/quote-event.ts';

/** HTCondor's code for an attempt that ended because its job was removed. */
const removed = 1023;
/** What belongs together is written within this time. */
const sameMomentMs = 2000;
/** Text that is kept of a reason: enough to tell what it is, whatever a container printed into it. */
const longestReason = 4000;

/** The stories of jobs from the events of a log, in its order. Nothing in a log makes it throw. */
export class StoryFold {
  readonly #file: string;
  readonly #stories = new Map<string, JobStory>();

  /** `file` is how the evidence names the log. */
  constructor(file: string) {
    this.#file = file;
  }

  stories(): JobStory[] {
    return [...this.#stories.values()];
  }

  add(event: LogEvent): void {
    if (event.proc < 0 || !isOfInterest(event)) return;
    const id = `${event.cluster}.${event.proc}`;
    const known = this.#stories.get(id);
    // Numbers are used again after a queue was lost: the later job is the one a user asks about.
    const isAnother = event.kind === 'submit' && known?.ended !== undefined;
    if (event.kind === 'image-size') {
      const attempt = known?.attempts.at(-1);
      if (attempt) attempt.memoryMb = Math.max(attempt.memoryMb, event.details.memoryUsageMb ?? 0);
      return;
    }
    const evidence = quoteEvent(event, this.#file);
    const story = known === undefined || isAnother ? this.#open(id, evidence, event.time) : known;
    story.last = evidence;
    story.to = event.time ?? story.to;
    tell(story, event, evidence);
  }

  #open(id: string, evidence: Evidence, time: number | undefined): JobStory {
    const story: JobStory = {
      id,
      from: time,
      to: time,
      first: evidence,
      last: evidence,
      attempts: [],
      holds: [],
      releases: [],
      isHeld: false,
    };
    this.#stories.set(id, story);
    return story;
  }
}

const isOfInterest = ({ kind }: LogEvent): boolean =>
  kind !== 'job-ad-information' && kind !== 'attribute-update' && kind !== 'generic' && kind !== 'unknown';

function tell(story: JobStory, event: LogEvent, evidence: Evidence): void {
  switch (event.kind) {
    case 'file-transfer':
      transfer(story, event, evidence);
      return;
    case 'execute':
      execute(story, event, evidence);
      return;
    case 'evicted':
    case 'shadow-exception':
    case 'terminated':
    case 'aborted':
      ending(story, event, evidence);
      return;
    case 'held':
      hold(story, event, evidence);
      return;
    case 'released':
      story.isHeld = false;
      story.releases.push({ reason: event.details.reason ?? '', evidence });
      return;
    case 'remote-error':
      complain(story, event, evidence);
      return;
    default:
      interlude(story, event, evidence);
  }
}

const current = (story: JobStory): StoryAttempt | undefined => {
  const last = story.attempts.at(-1);
  return last?.end === undefined ? last : undefined;
};

/** The attempt an event is of; the log may have missed its beginning. */
function underWay(story: JobStory, event: LogEvent, evidence: Evidence): StoryAttempt | undefined {
  if (story.attempts.length > 0 || story.ended !== undefined) return current(story);
  const unseen = begin(story, event, evidence, 'executing');
  unseen.executed = true;
  unseen.from = undefined;
  return unseen;
}

function begin(story: JobStory, { time }: LogEvent, evidence: Evidence, doing: Doing): StoryAttempt {
  const running = current(story);
  if (running !== undefined) running.end = { how: 'silent', evidence };
  const attempt: StoryAttempt = {
    from: time,
    to: time,
    began: evidence,
    doing,
    executed: false,
    slot: '',
    site: '',
    memoryMb: 0,
    saves: 0,
    reconnects: 0,
  };
  story.attempts.push(attempt);
  story.isHeld = false;
  // A job that goes on after its end was retried.
  delete story.ended;
  return attempt;
}

function transfer(story: JobStory, event: EventOf<'file-transfer'> & LogEvent, evidence: Evidence): void {
  const { direction, step } = event.details;
  const running = current(story);
  if (direction === 'input' && step !== 'finished') {
    const isNext =
      running === undefined || (running.doing !== 'queueing' && step === 'started') || step === 'queued';
    const attempt = isNext ? begin(story, event, evidence, 'queueing') : running;
    attempt.doing = step === 'queued' ? 'queueing' : 'fetching';
  } else if (running !== undefined) {
    if (direction === 'input') running.doing = 'starting';
    else running.doing = step === 'finished' ? (running.executed ? 'executing' : 'starting') : 'returning';
    running.to = event.time;
    if (direction === 'output' && step === 'finished' && running.executed) running.saves += 1;
  }
}

function execute(story: JobStory, event: EventOf<'execute'> & LogEvent, evidence: Evidence): void {
  const running = current(story);
  const attempt = running?.executed === false ? running : begin(story, event, evidence, 'executing');
  attempt.doing = 'executing';
  attempt.executed = true;
  attempt.slot = event.details.slot ?? attempt.slot;
  const site = event.details.attributes['GLIDEIN_ResourceName'];
  if (typeof site === 'string') attempt.site = site;
}

function complain(story: JobStory, event: EventOf<'remote-error'> & LogEvent, evidence: Evidence): void {
  const { details } = event;
  const running = underWay(story, event, evidence);
  if (running === undefined) return;
  if (running.slot === '') running.slot = details.host ?? '';
  running.complaint = { text: details.text.slice(0, longestReason), evidence };
}

function finish(story: JobStory, time: number | undefined, end: AttemptEnd): void {
  const running = current(story);
  if (running === undefined) return;
  running.to = time;
  running.end = end;
  if (running.slot === '' && 'reason' in end)
    running.slot = /(?:error from|execution point) (\S+@[^\s:]+)/i.exec(end.reason)?.[1] ?? '';
}

type EndingKind = 'evicted' | 'shadow-exception' | 'terminated' | 'aborted';

function ending(story: JobStory, event: EventOf<EndingKind> & LogEvent, evidence: Evidence): void {
  if (event.kind === 'evicted') underWay(story, event, evidence);
  // An attempt that fails before it begins leaves this event alone.
  if (event.kind === 'shadow-exception' && current(story) === undefined)
    begin(story, event, evidence, 'starting');
  switch (event.kind) {
    case 'evicted': {
      const { requeued, termination, resources } = event.details;
      if (requeued) finish(story, event.time, { how: 'exited', termination, evidence, resources });
      else if (event.details.code === removed) story.last = evidence;
      else finish(story, event.time, { how: 'vacated', ...accountOf(event.details, evidence, resources) });
      return;
    }
    case 'shadow-exception': {
      const account = accountOf({ reason: event.details.message }, evidence);
      finish(story, event.time, { how: 'exception', ...account });
      return;
    }
    case 'terminated': {
      const { termination, resources } = event.details;
      finish(story, event.time, { how: 'exited', termination, evidence, resources });
      story.ended = { by: 'itself', termination, evidence, resources };
      return;
    }
    case 'aborted': {
      const reason = (event.details.reason ?? '').slice(0, longestReason);
      takeBackEviction(story, event.time);
      story.ended = { by: 'removal', reason, evidence };
      return;
    }
  }
}

/** Releases before 24.3 tell of a removal first as an eviction, without a code. */
function takeBackEviction({ attempts }: JobStory, time: number | undefined): void {
  const last = attempts.at(-1);
  if (last?.end?.how !== 'vacated' || last.end.code !== undefined || last.end.reason.trim() !== '') return;
  if ((time ?? 0) - (last.to ?? 0) <= sameMomentMs) delete last.end;
}

function hold(story: JobStory, event: EventOf<'held'> & LogEvent, evidence: Evidence): void {
  const before = story.attempts.at(-1)?.end;
  // What was used stands in the eviction that some holds begin with.
  const eviction = before?.how === 'vacated' && !story.isHeld ? before : undefined;
  const account = accountOf(event.details, evidence, eviction?.resources);
  if (eviction !== undefined) account.table = eviction.evidence;
  finish(story, event.time, { how: 'vacated', ...account });
  story.holds.push(account);
  story.isHeld = true;
}

function accountOf(
  said: { code?: number; subcode?: number; reason?: string },
  evidence: Evidence,
  resources: Account['resources'] = [],
): Account {
  const { code, subcode, reason = '' } = said;
  return { code, subcode, reason: reason.slice(0, longestReason), evidence, resources };
}

const interludes: Partial<Record<LogEvent['kind'], Doing>> = {
  suspended: 'suspended',
  unsuspended: 'executing',
  disconnected: 'cut off',
  reconnected: 'executing',
};

/** What happens in the middle of an attempt. */
function interlude(story: JobStory, event: LogEvent, evidence: Evidence): void {
  const doing = interludes[event.kind];
  if (doing === undefined && event.kind !== 'reconnect-failed') return;
  const running = underWay(story, event, evidence);
  if (running === undefined) return;
  running.doing = doing ?? 'cut off';
  if (event.kind === 'disconnected' || event.kind === 'reconnected')
    running.slot = event.details.slot ?? running.slot;
  if (event.kind === 'reconnected') running.reconnects += 1;
  if (event.kind === 'reconnect-failed')
    finish(story, event.time, { how: 'vacated', ...accountOf({ code: 1008, ...event.details }, evidence) });
}
