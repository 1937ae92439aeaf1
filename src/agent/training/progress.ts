import type { Progress } from '../../journal/entry.ts';

const numeral = String.raw`([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|[-+]?inf(?:inity)?)\b`;
const assign = String.raw`["']?\s*(?:[:=]|\bis\b)?\s*`;

const epochOf = new RegExp(String.raw`\bepochs?\b${assign}[[(]?(\d+(?:\.\d+)?)(?:\s*(?:/|of)\s*(\d+))?`, 'i');
const stepOf =
  /\b(?:steps?|iters?|iterations?|batch(?:es)?)\b\s*[:=]?\s*[[(]?(\d+)(?:\s*(?:\/|of)\s*(\d+))?/i;
// PyTorch's examples write `[640/60000 (1%)]`, progress bars `45/100 [00:10<00:12` or `1.5k/60k [`; `1/6 [640/60000 (1%)]` is of the former.
const fractionsOf = [/\[(\d+)\/(\d+)\s*\(/, /\b(\d+(?:\.\d+)?[kMG]?)\/(\d+(?:\.\d+)?[kMG]?)\s*\[/];
const lossOf = new RegExp(String.raw`\bloss\b${assign}${numeral}`, 'i');
const accuracyOf = new RegExp(String.raw`\bacc(?:uracy)?\b${assign}${numeral}(?:\s*/\s*(\d+))?\s*(%)?`, 'i');
const waitedOf = new RegExp(String.raw`\bwaited["']?\s*[:=]\s*${numeral}`, 'i');
// The loss of a test or validation pass is a different curve from the training's.
const evaluation = /^\s*\W*\s*(?:test|val|valid|validation|eval|evaluation)\b/i;

/** What one line of a training's output says, by the conventions of common training programs. */
export function progressOfLine(line: string): Progress {
  const text = line.slice(0, 2000);
  const found: Progress = {};
  const epoch = epochOf.exec(text);
  if (epoch !== null) setPair(found, 'epoch', 'epochs', epoch[1], epoch[2]);
  const step = stepOf.exec(text) ?? fraction(text);
  if (step !== undefined) setPair(found, 'step', 'steps', step[1], step[2]);
  const loss = evaluation.test(text) ? null : lossOf.exec(text);
  if (loss?.[1] !== undefined) found.loss = toNumber(loss[1]);
  const accuracy = accuracyOf.exec(text);
  if (accuracy?.[1] !== undefined) found.accuracy = share(accuracy[1], accuracy[2], accuracy[3]);
  const waited = waitedOf.exec(text)?.[1];
  if (waited !== undefined && Number(waited) >= 0) found.waited = Number(waited);
  return withDone(found);
}

/** Results without a step, beside an epoch, come at its end; `'epoch': 1.5` counts what is done. */
function withDone(found: Progress): Progress {
  const { epoch, step, loss, accuracy } = found;
  const isAtEnd = step === undefined && (loss ?? accuracy) !== undefined;
  if (epoch !== undefined && (isAtEnd || !Number.isInteger(epoch))) found.done = epoch;
  return found;
}

/** One line of the file that `$UPDRAFT_PROGRESS` names: a JSON object with any of the fields; others are ignored. */
export function progressOfRecord(line: string): Progress {
  let value: unknown;
  try {
    // Python writes NaN and Infinity, which are not JSON.
    value = JSON.parse(line.replace(/:\s*(-?)(NaN|Infinity)\b/g, ': "$1$2"'));
  } catch {
    return {};
  }
  if (typeof value !== 'object' || value === null) return {};
  const fields = value as Record<string, unknown>;
  const found: Progress = {};
  for (const name of ['epoch', 'epochs', 'step', 'steps', 'loss', 'accuracy', 'waited'] as const) {
    const field = fields[name];
    if (typeof field === 'number') found[name] = field;
    else if (field === 'NaN' || field === 'Infinity' || field === '-Infinity') found[name] = Number(field);
  }
  return withDone(found);
}

/** The latest value of each field. */
export function mergeProgress(parts: Progress[]): Progress {
  return Object.assign({}, ...parts) as Progress;
}

function fraction(text: string): RegExpExecArray | undefined {
  return fractionsOf.map((form) => form.exec(text)).find((match) => match !== null);
}

function setPair(
  found: Progress,
  count: 'epoch' | 'step',
  total: 'epochs' | 'steps',
  first: string | undefined,
  second: string | undefined,
): void {
  if (first !== undefined) found[count] = scaled(first);
  if (second !== undefined) found[total] = scaled(second);
}

/** `1.5k` → 1500. */
function scaled(text: string): number {
  const power = 'kMG'.indexOf(text.at(-1) ?? '') + 1;
  return power === 0 ? Number(text) : Math.round(Number(text.slice(0, -1)) * 1000 ** power);
}

function toNumber(text: string): number {
  const lower = text.toLowerCase();
  if (lower === 'nan') return NaN;
  if (lower.includes('inf')) return lower.startsWith('-') ? -Infinity : Infinity;
  return Number(text);
}

/** An accuracy as a share of one, from `9909/10000`, `99.1%` or `0.991`. */
function share(value: string, total: string | undefined, percent: string | undefined): number {
  const number = toNumber(value);
  if (total !== undefined && Number(total) > 0) return number / Number(total);
  return percent === undefined && number <= 1 ? number : number / 100;
}
