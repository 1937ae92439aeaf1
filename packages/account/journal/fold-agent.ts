import { defined, parseTime } from '@updraft/base';
import {
  type AgentEntry,
  type FaultRecord,
  type Load,
  type Phase,
  phases,
  type ProgressEntry,
  progressFields,
} from './entry.ts';
import { addExtreme, metricsOf, type OwnExtremes } from './metrics.ts';
import { epochsDone } from './training-share.ts';
import {
  type AgentState,
  type CheckpointState,
  CurveTurns,
  type FetchState,
  type LoadState,
  type StallState,
  type TrainingPace,
  type TrainingState,
} from './agent-state.ts';

/**
 * One attempt's state after one more entry of its agent. Pure.
 *
 *   agent-started        phase            phase                     agent-ended   phase
 *        |                 |                |                            |           |
 *        v   preparing     v    fetching    v   unpacking … returning    v           v  cleaning
 *        o----------------->---------------->--------------------------->o---------->o---------->
 *        ^                                              |                outcome, exit
 *        '---------- agent-started again ---------------'   the gap is `unknown`, or `saving` after a pause
 *
 * If our plugin fetched the input, its entries come before the first `agent-started`.
 *
 * The time between two entries belongs to the phase that was open; time after the last entry is not counted.
 */
export function foldAgent(before: AgentState | undefined, entry: AgentEntry): AgentState {
  if (entry.kind === 'progress') return addProgress(ownCopy(before ?? fresh(entry)), entry);
  const now = advance(before ?? fresh(entry), entry);
  // Absent, never undefined.
  const state: AgentState = { ...now, ...defined({ stall: changeStall(now, entry) }) };
  switch (entry.kind) {
    case 'agent-started':
      return { ...state, ...started(before, entry) };
    case 'phase':
      return { ...state, phase: entry.phase };
    case 'fetch-progress':
    case 'fetch-setback':
    case 'fetched':
    case 'unpacked':
      return { ...state, fetches: changeFetch(state.fetches, entry) };
    case 'training-started':
    case 'training-ended':
    case 'progress-replaced':
    case 'progress-scaled':
    case 'metrics-refused':
    case 'rung':
      return { ...state, training: changeTraining(state.training, entry) };
    case 'heartbeat':
      return { ...state, ...heartbeat(state, entry) };
    case 'request-short':
      return { ...state, short: withShort(state.short, entry) };
    case 'gpus-found':
      return { ...state, gpus: entry.gpus, ...defined({ driver: entry.driver }) };
    case 'slot-probed':
      return { ...state, slot: { ...state.slot, ...entry.figures } };
    case 'self-test':
      return withLacks(state, entry);
    case 'checkpoint-saved':
      return { ...state, checkpoint: savedBy(entry) };
    case 'checkpoint-restored': {
      const { savedBy, epoch, step, otherCode } = entry;
      return { ...state, resumed: { savedBy, ...defined({ epoch, step, otherCode }) } };
    }
    case 'checkpoint-refused':
      return { ...state, refused: [...(state.refused ?? []), entry.reason] };
    case 'resume-checked':
      if (state.resumed === undefined) return state;
      return { ...state, resumed: { ...state.resumed, movedOn: entry.movedOn } };
    case 'agent-paused':
      return { ...state, paused: true };
    case 'output':
      return { ...state, outputs: [...state.outputs, outputOf(entry)] };
    case 'fault':
      return { ...state, faults: withFault(state, entry.fault) };
    case 'clean-progress':
    case 'cleaned':
      return { ...state, removed: { files: entry.files ?? 0, bytes: entry.bytes } };
    case 'first-epoch':
    case 'environment-ready':
      return state;
    case 'agent-ended':
      return { ...state, ...ended(state, entry) };
  }
}

const savedBy = ({
  t,
  files,
  bytes,
  epoch,
  step,
}: AgentEntry & { kind: 'checkpoint-saved' }): CheckpointState => ({
  savedAt: t,
  files,
  bytes,
  ...defined({ epoch, step }),
});

const outputOf = ({
  path,
  bytes,
  sha256,
}: AgentEntry & { kind: 'output' }): AgentState['outputs'][number] => ({
  path,
  bytes,
  sha256,
});

/** The state after several entries of one agent. Pure, but much cheaper than one by one where many report progress. */
export function foldAgentEntries(
  before: AgentState | undefined,
  entries: readonly AgentEntry[],
): AgentState | undefined {
  let state = before;
  /** The state, while nobody else has it: it can be changed in place. */
  let own: OwnState | undefined;
  for (const entry of entries) {
    own = entry.kind === 'progress' ? addProgress(own ?? ownCopy(state ?? fresh(entry)), entry) : undefined;
    state = own ?? withWork(foldAgent(state, entry), state, entry);
  }
  return state;
}

function started(
  before: AgentState | undefined,
  { version, host, site, gpus, driver }: Extract<AgentEntry, { kind: 'agent-started' }>,
): Partial<AgentState> {
  const broughtMillis = before?.broughtMillis ?? broughtBefore(before);
  return {
    version,
    host,
    gpus,
    phase: 'preparing',
    paused: false,
    ...defined({ site, driver, broughtMillis }),
  };
}

function ended(
  { phase, training }: AgentState,
  { outcome, exit, stoppedEarly, atRung }: Extract<AgentEntry, { kind: 'agent-ended' }>,
): Partial<AgentState> {
  // No attempt follows a success: of its curve, the beginning and the extremes are enough.
  const { entries = [] } = training?.turns ?? {};
  const begun = entries.slice(0, entries.findIndex(({ kind }) => kind === 'progress') + 1);
  const turns = outcome === 'success' && begun.length > 0 && new CurveTurns(begun);
  return {
    // Agents of earlier versions cleaned up before they reported their end.
    phase: phase === 'cleaning' ? 'returning' : phase,
    outcome,
    exit,
    ...defined({ stoppedEarly, atRung }),
    ...(training && turns && { training: { ...training, turns } }),
  };
}

const noWork: NonNullable<AgentState['work']> = { saved: [], discarded: 0, until: 0 };

/**
 * What became of the training: how much is in each of the last eight checkpoints, one of which the next attempt resumes
 * from, and how much another start did again, since it does not have what came after the last one.
 */
function withWork(state: AgentState, old: AgentState | undefined, entry: AgentEntry): AgentState {
  const { work = noWork, millis } = state;
  const until = millis.training;
  if (entry.kind === 'checkpoint-saved') {
    const { epoch, step } = entry;
    const latest = { trained: until - work.discarded, ...defined({ epoch, step }) };
    return { ...state, work: { ...work, saved: [...work.saved.slice(-7), latest] } };
  }
  if (entry.kind === 'checkpoint-restored' && entry.savedBy === entry.attempt) {
    const before = old?.resumed?.before ?? old?.resumed;
    return { ...state, resumed: { savedBy: entry.savedBy, ...state.resumed, ...defined({ before }) } };
  }
  if (entry.kind !== 'training-started' || !old?.training?.command) return state;
  const kept = Math.max(work.until, work.discarded + (work.saved.at(-1)?.trained ?? 0));
  return { ...state, work: { ...work, discarded: work.discarded + until - kept, until } };
}

/** The last fault is why the attempt ended, so a fault of its clean-up goes first. */
const withFault = ({ outcome, faults }: AgentState, fault: FaultRecord): FaultRecord[] =>
  outcome === undefined ? [...faults, fault] : [fault, ...faults];

function heartbeat(
  {
    peakMemoryBytes = 0,
    gpuUse: { percent, samples, idle } = { percent: 0, samples: 0 },
    load: before,
  }: AgentState,
  { t: to, memoryBytes, quietSeconds, gpuPercent, load }: Extract<AgentEntry, { kind: 'heartbeat' }>,
): Partial<AgentState> {
  const measured = {
    memoryBytes,
    quietSeconds,
    peakMemoryBytes: Math.max(peakMemoryBytes, memoryBytes),
    ...(load !== undefined && { load: withLoad(before, load) }),
  };
  if (gpuPercent === undefined) return measured;
  const mean = (percent * samples + gpuPercent) / (samples + 1);
  const use = { percent: mean, samples: samples + 1 };
  const isIdle = gpuPercent <= idlePercent;
  return { ...measured, gpuUse: { ...use, ...(isIdle && { idle: { from: idle?.from ?? to, to } }) } };
}

/** A GPU that is used by nothing but a display or a monitor. */
const idlePercent = 5;
const noLoad = { samples: 0, seconds: 0, used: 0, queued: 0, processes: 0, blocked: 0 };

/** A process that has ended takes its sums with it: then that sample says nothing of them. */
function withLoad(before: LoadState | undefined, last: Load): LoadState {
  // The figures may be older than the entry: measuring a large training takes its time.
  const seconds = last.at - (before?.last.at ?? Infinity);
  if (before === undefined || seconds < 0) return { ...noLoad, ...before, last };
  if (seconds === 0) return before;
  const gained = (name: 'used' | 'queued'): number =>
    before[name] + Math.max(0, last[name] - before.last[name]);
  return {
    last,
    samples: before.samples + 1,
    seconds: before.seconds + seconds,
    used: gained('used'),
    queued: gained('queued'),
    processes: before.processes + last.processes,
    blocked: before.blocked + last.blocked,
  };
}

function withShort(
  short: AgentState['short'] = {},
  { of, needed, asked }: Extract<AgentEntry, { kind: 'request-short' }>,
): NonNullable<AgentState['short']> {
  const { [of]: _old, ...others } = short;
  return needed > asked ? { ...others, [of]: { needed, asked } } : others;
}

function withLacks(state: AgentState, { checks }: Extract<AgentEntry, { kind: 'self-test' }>): AgentState {
  const lacks = checks.filter(({ ok }) => !ok).map(({ name, said }) => ({ name, said }));
  return lacks.length === 0 ? state : { ...state, lacks };
}

function fresh(entry: AgentEntry): AgentState {
  return {
    version: '',
    host: '',
    gpus: [],
    startedAt: entry.t,
    lastAt: entry.t,
    phase: 'preparing',
    millis: Object.fromEntries([...phases, 'unknown'].map((phase) => [phase, 0])) as AgentState['millis'],
    fetches: [],
    outputs: [],
    faults: [],
  };
}

/** Adds the time since the last entry to the open phase. A clock that was set back adds nothing. */
function advance(state: AgentState, entry: AgentEntry): AgentState {
  const own = { ...state, millis: { ...state.millis } };
  spendTime(own, entry);
  return own;
}

/** The same in place. */
function spendTime(own: AgentState, entry: AgentEntry, at = parseTime(entry.t)): void {
  const passed = at - parseTime(own.lastAt);
  if (passed <= 0) return;
  const gap = own.paused === true ? 'saving' : 'unknown';
  const open: Phase | 'unknown' = entry.kind === 'agent-started' && isBegun(own) ? gap : own.phase;
  own.lastAt = entry.t;
  own.millis[open] += passed;
}

/** Whether an agent has written entries, and not only the plugin. */
const isBegun = ({ version }: AgentState): boolean => version !== '';

const broughtBefore = (state: AgentState | undefined): number | undefined =>
  state === undefined || isBegun(state) ? undefined : Date.parse(state.lastAt) - Date.parse(state.startedAt);

type FetchEntry = Extract<AgentEntry, { object: string }>;

function changeFetch(fetches: readonly FetchState[], entry: FetchEntry): FetchState[] {
  const found = fetches.find(({ object }) => object === entry.object);
  const old = found ?? { object: entry.object, bytes: 0, rate: 0, server: '', setbacks: [], done: false };
  const next = { ...old, ...fetchChange(old, entry) };
  return found === undefined ? [...fetches, next] : fetches.map((fetch) => (fetch === found ? next : fetch));
}

function fetchChange(old: FetchState, entry: FetchEntry): Partial<FetchState> {
  switch (entry.kind) {
    case 'fetch-progress': {
      const { bytes, rate, server, total } = entry;
      return { bytes, rate, server, done: false, ...defined({ total }) };
    }
    case 'fetch-setback':
      return { setbacks: [...old.setbacks, { server: entry.server, fault: entry.fault }] };
    case 'fetched': {
      const { bytes, seconds, verified, servers, leftOut } = entry;
      const topServer = servers.toSorted((a, b) => b.bytes - a.bytes)[0]?.server ?? old.server;
      return {
        bytes,
        total: bytes,
        seconds,
        verified,
        rate: 0,
        done: true,
        server: topServer,
        servers,
        ...defined({ leftOut }),
      };
    }
    case 'unpacked':
      return { unpackedFiles: entry.files };
  }
}

type TrainingEntry = Extract<
  AgentEntry,
  {
    kind:
      | 'training-started'
      | 'training-ended'
      | 'rung'
      | 'progress-replaced'
      | 'progress-scaled'
      | 'metrics-refused';
  }
>;

/** What is counted from zero by each start of a training. */
const ofOneStart = 'waited saves saveSeconds done status signal'.split(' ');
const paceFrom = ['epochsFrom', 'samplesFrom'];

function changeTraining(old: TrainingState = { command: '' }, entry: TrainingEntry): TrainingState {
  switch (entry.kind) {
    case 'training-started': {
      const waitedBefore = (old.waitedBefore ?? 0) + (old.waited ?? 0);
      // What it reported last counts until the new start reports: one that had nothing left to do never does.
      return {
        ...without(old, ofOneStart),
        command: entry.command,
        ...(waitedBefore > 0 && { waitedBefore }),
        ...defined({ pace: old.pace && without(old.pace, paceFrom), savedBefore: savesOf(old) }),
      };
    }
    case 'rung':
      return { ...old, rungs: [...(old.rungs ?? []), entry] };
    case 'training-ended':
      return { ...old, status: entry.status, ...defined({ signal: entry.signal }) };
    case 'progress-scaled':
      return {
        ...old,
        scales: { ...old.scales, ...entry.scales },
        turns: new CurveTurns([...(old.turns?.entries ?? []), entry]),
      };
    case 'progress-replaced': {
      const turns = old.turns && new CurveTurns([...old.turns.entries, entry]);
      return { ...withoutMetrics(old, entry.metrics), ...defined({ turns }) };
    }
    case 'metrics-refused': {
      const { why, count, examples } = entry;
      const others = old.refused?.filter((one) => one.why !== why) ?? [];
      return { ...old, refused: [...others, { why, count, examples }] };
    }
  }
}

const without = <T extends object>(values: T, names: readonly string[]): T =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name))) as T;

/** Of metrics that were printed and are now in the training's file, the file alone counts. */
function withoutMetrics(training: TrainingState, names: readonly string[]): TrainingState {
  const { metrics, best, worst, ...rest } = training;
  const left = {
    metrics: metrics && without(metrics, names),
    best: best && without(best, names),
    worst: worst && without(worst, names),
  };
  return { ...without(rest, names), ...defined(left) };
}

/** A state whose parts that a report of progress changes belong to nobody else. */
type OwnState = AgentState & { training: TrainingState & OwnExtremes };

function ownCopy(state: AgentState): OwnState {
  const { training = { command: '' } } = state;
  const parts = (['metrics', 'best', 'worst', 'pace'] as const).map((name) => [
    name,
    training[name] && { ...training[name] },
  ]);
  const turns = training.turns && new CurveTurns(training.turns.entries);
  return {
    ...state,
    millis: { ...state.millis },
    training: { ...training, ...defined({ ...Object.fromEntries(parts), turns }) },
  };
}

/** The last report of each counts. */
const latest = [...progressFields, 'done'] as const;

/** Adds a report to a state in place. */
function addProgress(own: OwnState, entry: ProgressEntry): OwnState {
  const at = parseTime(entry.t);
  spendTime(own, entry, at);
  const { training } = own;
  for (const name of latest) {
    const value = entry[name];
    if (value !== undefined) training[name] = value;
  }
  if (entry.metrics !== undefined) Object.assign((training.metrics ??= {}), entry.metrics);
  const values = metricsOf(entry);
  let isTurn = false;
  for (const name in values) isTurn = addExtreme(training, name, values[name] ?? NaN) || isTurn;
  const { epoch, steps } = training;
  if (isTurn) (training.turns ??= new CurveTurns()).add({ ...entry, ...defined({ epoch, steps }) });
  setPace(training, entry, at);
  return own;
}

/** Checkpoints that a training reported in all its starts, and the seconds it waited for them; undefined if none. */
export function savesOf({
  saves = 0,
  saveSeconds = 0,
  savedBefore = { saves: 0, seconds: 0 },
}: Partial<TrainingState> = {}): TrainingState['savedBefore'] {
  if (saves + savedBefore.saves === 0) return undefined;
  return { saves: saves + savedBefore.saves, seconds: saveSeconds + savedBefore.seconds };
}

/** A shorter part of an epoch says little about the whole. */
const minEpochs = 0.5;

/** Adds a report to the pace of a training in place. */
function setPace(training: TrainingState, entry: ProgressEntry, now: number): void {
  const { t: at, samples } = entry;
  const secondsFrom = (from: string): number => (now - parseTime(from)) / 1000;
  const done = epochsDone(entry, training);
  if (done === undefined && samples === undefined) return;
  const pace: TrainingPace = (training.pace ??= {});
  if (done !== undefined) {
    const from = (pace.epochsFrom ??= { done, at });
    const seconds = secondsFrom(from.at);
    if (seconds > 0 && done - from.done >= minEpochs) pace.epochSeconds = seconds / (done - from.done);
  }
  if (samples !== undefined) {
    const from = (pace.samplesFrom ??= { samples, at });
    const seconds = secondsFrom(from.at);
    if (seconds > 0) pace.samplesPerSecond = (samples - from.samples) / seconds;
  }
}

/** Received bytes are reported at least this often: a shorter gap is not a stall. */
const maxReportGapMs = 1000;

/**
 * How long fetching has stalled, after one more entry: the time in which no byte of any object arrived until a server
 * was given up. `state` is from before the entry. Slow servers and discarded bytes do not count.
 */
function changeStall(state: AgentState, entry: AgentEntry): StallState | undefined {
  const { stall, phase } = state;
  const since = (millis: number, bytesAt = entry.t): StallState => ({ millis, since: entry.t, bytesAt });
  if (entry.kind === 'phase' && entry.phase === 'fetching') return since(stall?.millis ?? 0);
  if (stall === undefined || phase !== 'fetching') return stall;
  if (entry.kind === 'fetch-progress') return isMore(state, entry) ? since(stall.millis) : stall;
  if (entry.kind === 'fetched') return since(stall.millis);
  if (entry.kind !== 'fetch-setback') return stall;
  const stalledMs = Date.parse(entry.t) - Date.parse(stall.since);
  return since(stall.millis + (stalledMs > maxReportGapMs ? stalledMs : 0), stall.bytesAt);
}

function isMore(
  { fetches }: AgentState,
  { object, bytes }: Extract<AgentEntry, { kind: 'fetch-progress' }>,
): boolean {
  return bytes > (fetches.find((fetch) => fetch.object === object)?.bytes ?? 0);
}
