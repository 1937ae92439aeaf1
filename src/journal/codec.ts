import { kinds } from '../fault/kinds.ts';
import { outcomes, phases, type AgentBody, type AgentEntry, type Entry, type RunBody } from './entry.ts';

/** A field's value as the fold may rely on it, or `bad`. */
type Field = (value: unknown) => unknown;

const bad = Symbol('bad');
const faultKinds = Object.keys(kinds);

const text: Field = (value) => (typeof value === 'string' ? value : bad);
const flag: Field = (value) => (typeof value === 'boolean' ? value : bad);
const texts: Field = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : bad;
const oneOf =
  (names: readonly string[]): Field =>
  (value) =>
    names.includes(value as string) ? value : bad;
const orNull =
  (field: Field): Field =>
  (value) =>
    value === null ? null : field(value);
const maybe =
  (field: Field): Field =>
  (value) =>
    value === undefined ? undefined : field(value);

// JSON has no NaN, and a loss that became NaN is just what the researcher must see.
const notFinite = ['NaN', 'Infinity', '-Infinity'];
const number: Field = (value) => {
  if (typeof value === 'number') return value;
  return notFinite.includes(value as string) ? Number(value) : bad;
};

function record(shape: Record<string, Field>): Field {
  const fields = Object.entries(shape);
  return (value) => {
    if (typeof value !== 'object' || value === null) return bad;
    const copy: Record<string, unknown> = { ...value };
    for (const [name, field] of fields) {
      const read = field(copy[name]);
      if (read === bad) return bad;
      if (read !== undefined) copy[name] = read;
    }
    return copy;
  };
}

const list =
  (item: Field): Field =>
  (value) =>
    Array.isArray(value) && value.every((one) => item(one) !== bad) ? value : bad;

const fault = record({
  kind: oneOf(faultKinds),
  message: text,
  fix: maybe(text),
  about: maybe(text),
});

/** Every kind names every field it has, so that a new field cannot be forgotten here. */
type Shapes<Body extends { kind: string }> = {
  [Kind in Body['kind']]: Record<Exclude<keyof Extract<Body, { kind: Kind }>, 'kind'>, Field>;
};

const runShapes: Shapes<RunBody> = {
  'run-created': {
    run: text,
    name: text,
    pool: text,
    jobs: texts,
    planHash: text,
    version: text,
  },
  'canary-set': { rungs: list(number) },
  'round-started': { round: number, jobs: texts, why: text },
  submitting: { by: record({ pid: number, start: text, host: text }), round: maybe(number) },
  submitted: { cluster: number, round: maybe(number) },
  'attempt-started': { job: text, attempt: number, why: text },
  'attempt-phase': { job: text, attempt: number, phase: oneOf(phases), host: maybe(text), site: maybe(text) },
  'attempt-ended': {
    job: text,
    attempt: number,
    outcome: oneOf(outcomes),
    exit: orNull(number),
    fault: maybe(fault),
    movedOn: maybe(flag),
  },
  'job-held': { job: text, fault },
  'job-released': { job: text, why: text },
  'job-ended': { job: text, outcome: oneOf(outcomes), results: maybe(text), fault: maybe(fault) },
  'stop-requested': { jobs: (value) => (value === 'all' ? value : texts(value)), why: maybe(text) },
  'run-ended': { succeeded: number, failed: number },
};

const agentShapes: Shapes<AgentBody> = {
  'agent-started': {
    version: text,
    host: text,
    pid: number,
    site: maybe(text),
    gpus: texts,
  },
  phase: { phase: oneOf(phases) },
  'self-test': { checks: list(record({ name: text, ok: flag, said: text })) },
  'fetch-progress': { object: text, bytes: number, total: maybe(number), rate: number, server: text },
  'fetch-setback': { object: text, server: text, fault },
  fetched: {
    object: text,
    bytes: number,
    seconds: number,
    verified: oneOf(['manifest', 'digest', 'size', 'none']),
    servers: list(record({ server: text, bytes: number })),
  },
  unpacked: { object: text, files: number, bytes: number, proven: flag },
  'environment-ready': { how: text, seconds: number, bytes: number },
  'training-started': { pid: number, command: text },
  progress: {
    epoch: maybe(number),
    epochs: maybe(number),
    step: maybe(number),
    steps: maybe(number),
    loss: maybe(number),
    accuracy: maybe(number),
  },
  'first-epoch': { seconds: number, said: maybe(text) },
  heartbeat: { memoryBytes: number, quietSeconds: number },
  'checkpoint-saved': {
    files: number,
    bytes: number,
    sha256: text,
    seconds: maybe(number),
    epoch: maybe(number),
    step: maybe(number),
  },
  'checkpoint-restored': {
    savedBy: number,
    epoch: maybe(number),
    step: maybe(number),
    otherCode: maybe(flag),
  },
  'checkpoint-refused': { reason: text },
  'resume-checked': { movedOn: flag, epoch: maybe(number), step: maybe(number) },
  'agent-paused': {},
  'training-ended': { status: orNull(number), signal: maybe(text) },
  output: { path: text, bytes: number, sha256: text },
  fault: { fault },
  cleaned: { bytes: number },
  'agent-ended': { outcome: oneOf(outcomes), exit: number },
};

const time: Field = (value) => (typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : bad);
const envelope = { v: (value: unknown) => (value === 1 ? value : bad), t: time, seq: number };

const readers = new Map<string, Field>([
  ...Object.entries(runShapes).map(
    ([kind, shape]) => [kind, record({ ...envelope, ...shape })] as [string, Field],
  ),
  ...Object.entries(agentShapes).map(
    ([kind, shape]) =>
      [kind, record({ ...envelope, job: text, attempt: number, ...shape })] as [string, Field],
  ),
]);

/** An entry as one line, without its line end. */
export function encode(entry: Entry): string {
  return JSON.stringify(entry, (_key, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
}

/**
 * A line as an entry. A line that is no entry is `garbled`; one of a kind or version this program does not know
 * is `unknown`. Neither is ever fatal: the rest of the journal still tells what happened.
 */
export function decode(line: string): Entry | 'garbled' | 'unknown' {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'garbled';
  }
  if (typeof value !== 'object' || value === null) return 'garbled';
  const { v, kind } = value as { v?: unknown; kind?: unknown };
  if (typeof v !== 'number' || typeof kind !== 'string') return 'garbled';
  const read = readers.get(kind);
  if (v !== 1 || read === undefined) return 'unknown';
  const entry = read(value);
  return entry === bad ? 'garbled' : (entry as Entry);
}

/** Whether the entry is of the execution point; otherwise it is of the access point. */
export const isAgentEntry = (entry: Entry): entry is AgentEntry => Object.hasOwn(agentShapes, entry.kind);
