import { tried } from '../../base/error-reason.ts';
import { progressFields, type Progress } from '../../journal/entry.ts';

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

const partOf: Record<string, string> = { acc: 'accuracy', valid: 'val', validation: 'val' };
/** `val_loss=0.3`, `test/acc: 91 %`. */
const partialOf = new RegExp(
  String.raw`\b(train|val|valid|validation|test|eval)[_/](loss|acc|accuracy|error|f1|auc|acc1|acc5|top1|top5)\b${assign}${numeral}\s*(%)?`,
  'gi',
);

/** Figures of validation and test passes. */
function partialMetrics(text: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [, pass = '', what = '', value = '', percent] of text.matchAll(partialOf)) {
    const [first, second] = [pass, what].map((word) => partOf[word.toLowerCase()] ?? word.toLowerCase());
    found[`${first}_${second}`] = percent === undefined ? toNumber(value) : toNumber(value) / 100;
  }
  return found;
}

/** What one line of a training's output says, by the conventions of common training programs. */
export function progressOfLine(line: string): Progress {
  const text = line.slice(0, 2000);
  const found: Progress = {};
  const epoch = epochOf.exec(text);
  if (epoch !== null) setPair(found, 'epoch', 'epochs', epoch[1], epoch[2]);
  const step = stepOf.exec(text) ?? fraction(text);
  if (step !== undefined) setPair(found, 'step', 'steps', step[1], step[2]);
  const isEvaluation = evaluation.test(text);
  const loss = lossOf.exec(text)?.[1];
  if (loss !== undefined && !isEvaluation) found.loss = toNumber(loss);
  const metrics = {
    ...(loss !== undefined && isEvaluation && { val_loss: toNumber(loss) }),
    ...partialMetrics(text),
  };
  if (Object.keys(metrics).length > 0) found.metrics = metrics;
  const accuracy = accuracyOf.exec(text);
  if (accuracy?.[1] !== undefined) found.accuracy = share(accuracy[1], accuracy[2], accuracy[3]);
  const waited = waitedOf.exec(text)?.[1];
  if (waited !== undefined && Number(waited) >= 0) found.waited = Number(waited);
  return withDone(found);
}

/** Results without a step, beside an epoch, come at its end; `'epoch': 1.5` counts what is done. */
function withDone(found: Progress): Progress {
  const { epoch, step, loss, accuracy, metrics = {} } = found;
  const isEvaluated = Object.keys(metrics).some((name) => /^(?:val|test|eval)/i.test(name));
  const isAtEnd = step === undefined && ((loss ?? accuracy) !== undefined || isEvaluated);
  if (epoch !== undefined && (isAtEnd || !Number.isInteger(epoch))) found.done = epoch;
  return found;
}

const isOwnField = (name: string): name is (typeof progressFields)[number] =>
  (progressFields as readonly string[]).includes(name);

/** Names of other metrics, as any table or file can carry them: `F1 (macro)` → `F1_macro`. */
const safeName = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}_./@%:+-]+/gu, '_').replaceAll(/^[./@%:+-]+|(?<=.)_+$/g, '');

/** More different names than this are not metrics, but counters or layers; the first ones count. */
export const maxMetrics = 32;

/** One line of the file that `$UPDRAFT_PROGRESS` names: a JSON object with any of the fields; other numbers are metrics. */
export function progressOfRecord(line: string): Progress {
  // Python writes NaN and Infinity, which are not JSON.
  const text = line.replace(/:\s*(-?)(NaN|Infinity)\b/g, ': "$1$2"');
  const value = tried(() => JSON.parse(text) as unknown);
  if (typeof value !== 'object' || value === null) return {};
  const found: Progress = {};
  const metrics: Record<string, number> = {};
  for (const [name, field] of Object.entries(value as Record<string, unknown>)) {
    const isNumber = typeof field === 'number' || field === 'NaN' || /^-?Infinity$/.test(String(field));
    if (!isNumber) continue;
    if (isOwnField(name)) found[name] = Number(field);
    else if (/^(?=.*\p{L}).{1,60}$/u.test(safeName(name))) metrics[safeName(name)] = Number(field);
  }
  if (Object.keys(metrics).length > 0) found.metrics = metrics;
  return withDone(found);
}

/** The latest value of each field. */
export function mergeProgress(parts: Progress[]): Progress {
  const merged = Object.assign({}, ...parts) as Progress;
  if (merged.metrics !== undefined)
    merged.metrics = Object.assign({}, ...parts.map(({ metrics }) => metrics)) as Record<string, number>;
  return merged;
}

/** Keeps a training from filling journals with ever new names. */
export class MetricNames {
  readonly #known = new Set<string>();

  admit({ metrics, ...rest }: Progress): Progress {
    const known = Object.entries(metrics ?? {}).filter(
      ([name]) => this.#known.has(name) || (this.#known.size < maxMetrics && this.#known.add(name)),
    );
    return known.length === 0 ? rest : { ...rest, metrics: Object.fromEntries(known) };
  }
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
