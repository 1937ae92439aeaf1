import {
  bool,
  field,
  type Field,
  type Fields,
  isTable,
  jsonTable,
  listOf,
  Mismatch,
  nullable,
  oneOf,
  optional,
  parseTime,
  recordOf,
  shape,
  text,
} from '@updraft/base';
import { kinds, type FaultKind } from '../fault/kinds.ts';
import { liveMark } from './layout.ts';
import type { Observation } from './state.ts';
import {
  leftOutReasons,
  metricScales,
  outcomes,
  phases,
  progressFields,
  refusedReasons,
  type AgentBody,
  type AgentEntry,
  type Entry,
  type FaultRecord,
  type Load,
  type RunBody,
  type ServerLeftOut,
  type ServerShare,
} from './entry.ts';

// JSON has no NaN, but a researcher must see a loss that became NaN.
const notFinite = ['NaN', 'Infinity', '-Infinity'];
const number: Field<number> = (value) => {
  if (typeof value === 'number') return value;
  return notFinite.includes(value as string) ? Number(value) : new Mismatch('a number', value);
};

const texts = listOf(text);
const fault: Field<FaultRecord> = shape<Omit<FaultRecord, 'cause'>>({
  kind: oneOf(Object.keys(kinds) as FaultKind[]),
  message: text,
  fix: optional(text),
  about: optional(text),
});

/** Requires every field of every kind, so that a new field cannot be forgotten here. */
type Shapes<Body extends { kind: string }> = {
  [Kind in Body['kind']]: Fields<Omit<Extract<Body, { kind: Kind }>, 'kind'>>;
};

const rungPlace = { rung: number, seen: number, better: number, goesOn: bool };

const runShapes: Shapes<RunBody> = {
  'run-created': {
    run: text,
    name: text,
    pool: text,
    jobs: texts,
    planHash: text,
    version: text,
  },
  'canary-set': { rungs: listOf(number) },
  'rung-judged': { job: text, ...rungPlace },
  'round-started': { round: number, jobs: texts, why: text },
  submitting: { by: shape({ pid: number, start: text, host: text }), round: optional(number) },
  submitted: { cluster: number, round: optional(number) },
  'attempt-started': { job: text, attempt: number, why: text, was: optional(number) },
  'attempt-disconnected': { job: text, attempt: number, until: text },
  'attempt-reconnected': { job: text, attempt: number },
  'attempt-phase': {
    job: text,
    attempt: number,
    phase: oneOf(phases),
    host: optional(text),
    site: optional(text),
  },
  'attempt-ended': {
    job: text,
    attempt: number,
    outcome: oneOf(outcomes),
    exit: nullable(number),
    fault: optional(fault),
    movedOn: optional(bool),
  },
  'job-held': { job: text, fault },
  'job-released': { job: text, why: text },
  'job-ended': { job: text, outcome: oneOf(outcomes), results: optional(text), fault: optional(fault) },
  'stop-requested': { jobs: (value) => (value === 'all' ? value : texts(value)), why: optional(text) },
  'run-ended': { succeeded: number, failed: number },
};

const position = { epoch: optional(number), step: optional(number) };
type ProgressShape = Fields<Partial<Record<(typeof progressFields)[number], number>>>;

const agentShapes: Shapes<AgentBody> = {
  'agent-started': {
    version: text,
    host: text,
    pid: number,
    site: optional(text),
    gpus: texts,
    driver: optional(text),
  },
  'gpus-found': { gpus: texts, driver: optional(text) },
  'slot-probed': { figures: recordOf(number) },
  phase: { phase: oneOf(phases) },
  'self-test': { checks: listOf(shape({ name: text, ok: bool, said: text })) },
  rung: {
    ...rungPlace,
    at: number,
    unit: oneOf(['epochs', 'steps']),
    metric: text,
    value: number,
    unheard: optional(bool),
  },
  'fetch-progress': { object: text, bytes: number, total: optional(number), rate: number, server: text },
  'fetch-setback': { object: text, server: text, fault },
  fetched: {
    object: text,
    bytes: number,
    seconds: number,
    verified: oneOf(['manifest', 'digest', 'size', 'none']),
    servers: listOf(
      shape<ServerShare>({
        server: text,
        bytes: number,
        preferredBy: optional(text),
        warmBytes: optional(number),
        coldBytes: optional(number),
      }),
    ),
    leftOut: optional(listOf(shape<ServerLeftOut>({ server: text, by: text, why: oneOf(leftOutReasons) }))),
  },
  unpacked: { object: text, files: number, bytes: number, proven: bool },
  'environment-ready': { how: text, seconds: number, bytes: number },
  'training-started': { pid: number, command: text },
  progress: {
    ...(Object.fromEntries(progressFields.map((name) => [name, optional(number)])) as ProgressShape),
    done: optional(number),
    metrics: optional(recordOf(number)),
  },
  'progress-replaced': { metrics: texts, recounted: optional(bool) },
  'progress-scaled': { scales: recordOf(oneOf(metricScales)) },
  'metrics-refused': { why: oneOf(refusedReasons), count: number, examples: texts },
  'first-epoch': { seconds: number, said: optional(text) },
  heartbeat: {
    memoryBytes: number,
    quietSeconds: number,
    gpuPercent: optional(number),
    load: optional(
      shape<Load>({ at: number, processes: number, blocked: number, used: number, queued: number }),
    ),
  },
  'request-short': { of: oneOf(['memory', 'time']), needed: number, asked: number },
  'checkpoint-saved': {
    files: number,
    bytes: number,
    sha256: text,
    seconds: optional(number),
    ...position,
  },
  'checkpoint-restored': { savedBy: number, ...position, otherCode: optional(bool) },
  'checkpoint-refused': { reason: text },
  'resume-checked': { movedOn: bool, ...position },
  'agent-paused': {},
  'training-ended': { status: nullable(number), signal: optional(text), rank: optional(number) },
  output: { path: text, bytes: number, sha256: text },
  fault: { fault },
  'clean-progress': { files: number, bytes: number },
  cleaned: { files: optional(number), bytes: number, by: optional(oneOf(['pool'])) },
  'agent-ended': {
    outcome: oneOf(outcomes),
    exit: number,
    stoppedEarly: optional(bool),
    atRung: optional(number),
  },
};

const envelope = {
  v: oneOf([1]),
  t: field<string>('a time', isTime),
  seq: number,
  boot: optional(shape({ id: text, up: number })),
};

const readers = new Map<string, Field<unknown>>([
  ...Object.entries(runShapes).map(
    ([kind, own]) => [kind, shape<Record<string, unknown>>({ ...envelope, ...own })] as const,
  ),
  ...Object.entries(agentShapes).map(
    ([kind, own]) =>
      [kind, shape<Record<string, unknown>>({ ...envelope, job: text, attempt: number, ...own })] as const,
  ),
]);

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(parseTime(value));
}

/**
 * Whether this is a report of progress in which every figure is a number, as nearly all lines of a long journal are.
 * All else is checked field by field, which takes several times as long.
 */
function isPlainProgress(value: Readonly<Record<string, unknown>>): boolean {
  const { kind, t, seq, job, attempt, boot } = value;
  if (kind !== 'progress' || typeof seq !== 'number' || typeof attempt !== 'number') return false;
  if (typeof job !== 'string' || boot !== undefined || !isTime(t)) return false;
  for (const name in value) {
    const one = value[name];
    if (typeof one === 'number' && name !== 'metrics') continue;
    if (name === 'metrics' ? !areNumbers(one) : name !== 't' && name !== 'job' && name !== 'kind')
      return false;
  }
  return true;
}

function areNumbers(value: unknown): boolean {
  if (!isTable(value)) return false;
  for (const name in value) if (typeof value[name] !== 'number') return false;
  return true;
}

/** An entry as one line, without its line end. */
export function encode(entry: Entry): string {
  return JSON.stringify(entry, (_key, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
}

/**
 * Parses a line. A line that is not an entry is `garbled`; one of an unknown kind or version is `unknown`. Neither is
 * fatal: the rest of the journal is still valid.
 */
export function decode(line: string): Entry | 'garbled' | 'unknown' {
  const value = jsonTable(line) ?? {};
  const { v, kind } = value;
  if (typeof v !== 'number' || typeof kind !== 'string') return 'garbled';
  const read = readers.get(kind);
  if (v !== 1 || read === undefined) return 'unknown';
  if (isPlainProgress(value)) return value as unknown as Entry;
  const entry = read(value);
  return entry instanceof Mismatch ? 'garbled' : (entry as Entry);
}

/** The entry in a line that an agent sent to the pool's log; undefined for any other line. */
export function decodeLive(text: string): AgentEntry | undefined {
  if (!text.startsWith(liveMark)) return undefined;
  const entry = decode(text.slice(liveMark.length).trim());
  return typeof entry === 'string' || !isAgentEntry(entry) ? undefined : entry;
}

/** Whether the entry comes from the agent rather than from the access point. */
export const isAgentEntry = (entry: Observation): entry is AgentEntry =>
  Object.hasOwn(agentShapes, entry.kind);
