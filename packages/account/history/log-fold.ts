import { quoteEvent } from '../diagnosis/quote-event.ts';
import { type EventOf, type LogEvent, ownCopy } from '@updraft/htcondor/eventlog';
import { applyEvent } from './apply-event.ts';
import type { QuotedLog } from './event-place.ts';
import type { JobHistory } from './history.ts';
import { JobFold, type FoldContext } from './job-fold.ts';
import { noFacts, zoneName, type LogFacts } from './log-facts.ts';
import { intern } from './worker.ts';

export interface FoldOptions extends Partial<FoldContext> {
  /** Keeps evidence for explanations; this is the log's name in it. */
  evidence?: string | undefined;
  /** Keeps only where it is, not its lines: a log of many jobs is explained at half the cost. */
  isPlaceEnough?: boolean | undefined;
  /** The DAG that submitted a node, if it is known: other DAGs may have a node of the same name. */
  dagOf?: ((submitted: LogEvent) => string | undefined) | undefined;
}

interface NextLog {
  /** Its name, kept by the jobs that begin in it. */
  log?: string | undefined;
  /** Its name in evidence. */
  evidence?: string | undefined;
  /** Whether no log follows it: then none can repeat its events. */
  isLast?: boolean | undefined;
}

/** A job under one of its ids, and up to which event it has been read. */
interface KnownJobId {
  id: string;
  fold: JobFold;
  log: number;
  /** Time of its submit event since the first of its job, and host: they distinguish two jobs with the same number. */
  bornAfter: number | undefined;
  bornOn: string | undefined;
  /** Events up to this time are in an earlier log. */
  knownUntil: number | undefined;
  /** The events at the latest time, one bit for each event number up to 47: 24 bits are a small integer everywhere. */
  latest: number;
  latestHigh: number;
}

/** Builds jobs from the events of any number of logs, oldest log first. Nothing in a log makes it throw. */
export class LogFold {
  readonly facts: LogFacts = { ...noFacts, hasTransfers: false };
  readonly #context: FoldContext;
  #quoted: QuotedLog | undefined;
  readonly #isPlaceEnough: boolean;
  readonly #dagOf: FoldOptions['dagOf'];
  #logName: string | undefined;
  /** By cluster and process: a string per event would cost more than all else here. */
  readonly #known = new Map<number, KnownJobId[]>();
  #cluster = -1;
  #processes: KnownJobId[] = [];
  /** The jobs that are nodes of a DAG, by DAG or log, node and process. */
  readonly #nodes = new Map<string, JobFold>();
  /** The latest job of each node, by DAG or log. */
  readonly #latestOfNodes = new Map<string, JobFold>();
  /** The next cluster of a node whose previous one is still on a slot. */
  readonly #next = new Map<JobFold, string>();
  readonly #folds: JobFold[] = [];
  /** How many jobs have had a number, if more than one. */
  readonly #uses = new Map<string, number>();
  #log = 0;
  #isLast = false;
  /** Whether the first event of a job was not its submission: the start of the log is missing. */
  headless = false;

  constructor({ ours = false, onChange, evidence, isPlaceEnough = false, dagOf }: FoldOptions = {}) {
    this.#context = { ours, onChange };
    this.#quoteAs(evidence);
    this.#isPlaceEnough = isPlaceEnough;
    this.#dagOf = dagOf;
  }

  /** The events that follow come from another log, or from the start of the same one. */
  nextLog({ log, evidence = this.#quoted?.file, isLast = false }: NextLog = {}): void {
    this.#log += 1;
    this.#isLast = isLast;
    this.#logName = log;
    this.#quoteAs(evidence);
  }

  #quoteAs(file: string | undefined): void {
    this.#quoted = file === undefined ? undefined : { file, clock: this.facts };
  }

  /** Returns whether the event is new. `at`: its time, if the log's own zone is wrong. */
  add(event: LogEvent, at = event.time): boolean {
    this.#learn(event);
    // An event of a whole cluster belongs to no job, nor does one of a DAG's node that has none.
    if (event.proc < 0 || event.proc === nodeWithoutJob) {
      if (event.cluster < 0) this.facts.jobless += 1;
      return false;
    }
    const known = this.#find(event, at);
    const { fold } = known;
    const time = at ?? fold.now;
    const mayRepeat = known.log !== this.#log || isKnownAt(known, time);
    const number = mayRepeat || (!this.#isLast && time >= fold.now) ? numberOf(event) : -1;
    if (mayRepeat) {
      if (isRepeated(known, number, time)) {
        this.facts.repeated += 1;
        return false;
      }
      known.log = this.#log;
    }
    if (known.id !== fold.job.id) {
      // Late events of a cluster that its node no longer uses.
      if (event.kind === 'submit' || this.#next.get(fold) !== known.id) return false;
      fold.advance(time);
      this.#resubmit(fold, known.id);
    }
    if (time < fold.now) this.facts.backwards += 1;
    if (time > fold.now) known.latest = known.latestHigh = 0;
    if (number >= 0) remember(known, number);
    fold.advance(time);
    if (this.#quoted !== undefined && !noEvidence.has(event.kind)) {
      if (this.#isPlaceEnough) fold.locate(this.#quoted, event.offset, time);
      else fold.quote(quoteEvent(event, this.#quoted.file));
    }
    applyEvent(fold, event);
    return true;
  }

  /** The jobs. Ends the fold, and frees everything else. */
  finish(): JobHistory[] {
    for (const [fold, id] of this.#next) if (fold.attempt === undefined) this.#resubmit(fold, id);
    this.#known.clear();
    this.#processes = [];
    this.#cluster = -1;
    this.#nodes.clear();
    this.#latestOfNodes.clear();
    this.#uses.clear();
    return this.#folds.splice(0).map((fold) => fold.result());
  }

  #learn(event: LogEvent): void {
    const { facts } = this;
    facts.events += 1;
    if (!event.whole) facts.cut += 1;
    if (event.kind === 'file-transfer') facts.hasTransfers = true;
    const { time } = event;
    if (time === undefined) return;
    if (facts.firstTime === undefined) nameZone(facts, event);
    else if (facts.zone === undefined && event.kind === 'terminated') inferZone(facts, event);
    if (time < (facts.firstTime ?? Infinity)) facts.firstTime = time;
    if (time > (facts.lastTime ?? -Infinity)) facts.lastTime = time;
  }

  #find(event: LogEvent, at: number | undefined): KnownJobId {
    const known = this.#processesOf(event.cluster)[event.proc];
    if (known === undefined) return this.#open(event, at);
    if (
      event.kind === 'submit' &&
      (known.bornAfter !== sinceFirst(known.fold, at) || known.bornOn !== (event.details.host ?? ''))
    )
      return this.#open(event, at);
    if (known.log !== this.#log) known.knownUntil = known.fold.now;
    return known;
  }

  #processesOf(cluster: number): readonly KnownJobId[] {
    if (cluster === this.#cluster) return this.#processes;
    this.#cluster = cluster;
    this.#processes = this.#known.get(cluster) ?? [];
    return this.#processes;
  }

  #open(event: LogEvent, at: number | undefined): KnownJobId {
    const number = `${event.cluster}.${event.proc}`;
    const before = this.#processesOf(event.cluster)[event.proc];
    const uses = before !== undefined ? (this.#uses.get(number) ?? 1) + 1 : 1;
    if (uses > 1) this.#uses.set(number, uses);
    const id = uses === 1 ? number : `${number}#${uses}`;
    if (event.kind !== 'submit') this.headless = true;
    const fold = this.#foldOf(id, event, at);
    const known = {
      id,
      fold,
      log: this.#log,
      knownUntil: undefined,
      latest: 0,
      latestHigh: 0,
      bornAfter: sinceFirst(fold, at),
      bornOn: event.kind === 'submit' ? intern(event.details.host ?? '') : undefined,
    };
    this.#keep(event, known);
    return known;
  }

  /** Many clusters have one process: an array of exactly one takes a fifth of the memory of one that grows. */
  #keep({ cluster, proc }: LogEvent, known: KnownJobId): void {
    if (this.#processes.length > 0 || proc > 0) this.#processes[proc] = known;
    else this.#processes = [known];
    this.#known.set(cluster, this.#processes);
  }

  #resubmit(fold: JobFold, id: string): void {
    this.#next.delete(fold);
    // What it computed is computed again: its node failed, in another of its jobs or in a script.
    const { attempts, cause = 'node-retried' } = fold.job;
    const last = attempts.at(-1);
    if (last?.ending === 'success') Object.assign(last, { ending: 'requeued', cause });
    fold.resubmit(id);
  }

  /** A process of a DAG's node is one job, however many clusters the node has had, until all of one succeed. */
  #foldOf(id: string, event: LogEvent, at: number | undefined): JobFold {
    const node = event.kind === 'submit' ? event.details.dagNode : undefined;
    const dag = node === undefined ? undefined : this.#dagOf?.(event);
    const byLog = `${event.proc} ${node ?? ''} ${this.#logName ?? ''}`;
    const key = dag === undefined ? byLog : `${event.proc} ${node ?? ''} ${dag}`;
    // DAGMan's own log has only its latest run: an earlier one is known by the log alone.
    const before = node === undefined ? undefined : (this.#nodes.get(key) ?? this.#nodes.get(byLog));
    const place = `${node ?? ''} ${dag ?? this.#logName ?? ''}`;
    // In a run of a DAG, a node has another cluster only if it is tried again.
    const isSameRun = dag !== undefined && before?.job.dag === dag;
    if (
      before !== undefined &&
      (isSameRun || before.ended !== 'success' || this.#isRetried(place, event.cluster))
    ) {
      if (before.attempt === undefined) {
        before.advance(at ?? before.now);
        this.#resubmit(before, id);
      } else this.#next.set(before, id);
      if (dag !== undefined) before.job.dag = dag;
      this.#nodes.set(key, before);
      return before;
    }
    const fold = new JobFold(id, at ?? 0, this.#context);
    this.#folds.push(fold);
    if (this.#logName !== undefined) fold.job.log = this.#logName;
    if (event.kind === 'submit' && event.details.notes.some((note) => ourNote.test(note))) fold.ours = true;
    if (node === undefined) return fold;
    fold.job.node = ownCopy(node);
    if (dag !== undefined) fold.job.dag = dag;
    this.#nodes.set(key, fold);
    const sibling = this.#latestOfNodes.get(place);
    this.#latestOfNodes.set(place, fold);
    if (sibling !== undefined) sibling.job.siblings = fold.job.siblings = true;
    return fold;
  }

  /** Whether a node's clusters before this one failed: if one process did, DAGMan submits all of them again. */
  #isRetried(place: string, cluster: number): boolean {
    const { id, earlierIds = [] } = this.#latestOfNodes.get(place)?.job ?? {};
    const before = [id, ...earlierIds].map((one) => Number.parseInt(one ?? '', 10));
    const known = this.#known.get(before.find((one) => one !== cluster) ?? -1) ?? [];
    return known.some(({ id: own, fold }) => fold.ended !== 'success' || fold.job.id !== own);
  }
}

/** Milliseconds since the first event of a job: a small number takes no memory of its own. */
const sinceFirst = ({ job }: JobFold, at: number | undefined): number | undefined =>
  at === undefined ? undefined : at - job.from;

/** The process number in DAGMan's events of NOOP nodes, and of nodes that PRE_SKIP ends. */
const nodeWithoutJob = 2_147_483_647;

/** The note in the submit events of Updraft's own jobs. */
const ourNote = /^Updraft run /;

/** Events that no explanation needs; memory use is kept in the attempt. */
const noEvidence: ReadonlySet<string> = new Set<LogEvent['kind']>([
  'job-ad-information',
  'attribute-update',
  'generic',
  'other',
  'image-size',
]);

function nameZone(facts: LogFacts, { zone, timeText }: LogEvent): void {
  if (zone === 'unknown') return;
  const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)$/.exec(timeText) ?? [];
  const size = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  facts.offsetMinutes = sign === '-' ? -size : size;
  facts.zone = zoneName(facts.offsetMinutes);
}

const quarterHour = 15 * 60_000;
/** A terminated event is written within this time of the end. */
const soonMs = 120_000;

/** Some versions of HTCondor write the time of an end in UTC too. */
function inferZone(facts: LogFacts, event: EventOf<'terminated'>): void {
  const ended = event.read('ended');
  if (ended === undefined) return;
  const { time = 0 } = event;
  const localTime = time - new Date(time).getTimezoneOffset() * 60_000;
  const ahead = localTime - ended;
  const east = Math.floor((ahead + 1000) / quarterHour) * quarterHour;
  if (ahead - east <= soonMs && Math.abs(east) <= 56 * quarterHour) facts.zone = zoneName(east / 60_000);
}

/** Steps of a transfer have event numbers that today's logs do not use. */
const transferSteps = {
  input: { queued: 14, started: 15, finished: 17 },
  output: { queued: 18, started: 19, finished: 20 },
};

function numberOf(event: LogEvent): number {
  if (event.kind !== 'file-transfer') return event.number % 48;
  const [direction, step] = [event.read('direction'), event.read('step')];
  return direction === undefined || step === undefined ? event.number : transferSteps[direction][step];
}

function remember(known: KnownJobId, number: number): void {
  if (number < 24) known.latest |= 1 << number;
  else known.latestHigh |= 1 << (number - 24);
}

const isRemembered = ({ latest, latestHigh }: KnownJobId, number: number): boolean =>
  ((number < 24 ? latest >> number : latestHigh >> (number - 24)) & 1) === 1;

const isKnownAt = ({ knownUntil }: KnownJobId, time: number): boolean =>
  knownUntil !== undefined && time <= knownUntil;

/** Whether an earlier log has the event; that log may end in the middle of a second. */
const isRepeated = (known: KnownJobId, number: number, time: number): boolean =>
  isKnownAt(known, time) && (time !== known.knownUntil || isRemembered(known, number));
