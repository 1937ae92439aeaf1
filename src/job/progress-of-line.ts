import { hundredth, isAccuracy } from '@updraft/base/training';
import { anyOf, jsonTable } from '@updraft/base';
import { maxMetricName, type MetricScale, type Progress, progressFields } from '@updraft/account/journal';

const passWord = String.raw`(train(?:ing)?|val(?:id(?:ation)?)?|dev|eval(?:uation)?|test(?:ing)?)`;

const passOf = (word: string): string => {
  const lower = word.toLowerCase();
  if (lower.startsWith('train')) return 'train_';
  return lower.startsWith('test') ? 'test_' : 'val_';
};

/** `Test: [ 10/196]`, `Test: Total time`, or `Test Error:` above its figures. */
const begins = new RegExp(
  String.raw`(?:^|\s)${passWord}(?:\s+(?:error|set|results?|metrics))?(?:\s*\(\w+\))?\s*:\s*(\[|total time|$)`,
  'i',
);
/** ` * Acc@1 77.059`, `Test:  Acc@1 69.758` and `Averaged stats: loss: 0.8 (0.85)`: what the lines before came to. */
const sumsUp = /(?:^|\s)(?:\*\s+(?=[a-z])|averaged stats:|test:\s+(?=acc@))/i;
const position = /\[\s*\d+\s*\/\s*\d+/;
const pairs = /[\d.]\s*\(\s*[-+.\de]+%?\s*\)/i;

/** Whose figures a line has that does not say it, by the lines before it; and those of a test that is under way. */
export class PrintedPass {
  #pass = '';
  /** The line before was `Test Error:`, or of the block below it. */
  #isHeading = false;
  #underWay: Progress = {};

  /** The pass of a line's first figures: empty for the training. */
  at(line: string): string {
    const wasHeading = this.#isHeading;
    this.#isHeading &&= /^\s+\S/.test(line);
    const [, word, after] = begins.exec(line) ?? [];
    if (word !== undefined) {
      this.#isHeading = after === '';
      this.#pass = passOf(word).replace('train_', '');
    } else if (/\b(?:epochs?|train)\b/i.test(line)) this.#pass = '';
    return wasHeading || sumsUp.test(line) ? this.#pass : '';
  }

  /** Of a test that goes on, what it came to so far is not recorded: returns what is, in order. */
  settle(line: string, found: Progress): Progress[] {
    if (Object.keys(found).length === 0) return [];
    const before = this.#underWay;
    this.#underWay = {};
    if (this.#pass !== '' && position.test(line) && pairs.test(line)) {
      this.#underWay = mergeProgress([before, found]);
      return [];
    }
    if (Object.keys(before).length === 0) return [found];
    return sumsUp.test(line) ? [mergeProgress([before, found])] : [before, found];
  }

  /** What a test came to that was never summed up. */
  end(): Progress[] {
    return this.settle('', { metrics: {} }).slice(0, -1);
  }
}

/** The mean so far after the value of a batch, as `62.50 ( 77.81)`: elsewhere, it may be a deviation. */
const hasMeans = (line: string): boolean => position.test(line) || sumsUp.test(line);

/** The latest value of each field. */
export function mergeProgress(parts: Progress[]): Progress {
  const merged = Object.assign({}, ...parts) as Progress;
  if (merged.metrics !== undefined)
    merged.metrics = Object.assign({}, ...parts.map(({ metrics }) => metrics)) as Record<string, number>;
  return merged;
}

const numeral = String.raw`([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|[-+]?inf(?:inity)?)\b`;
const assign = String.raw`["']?\s*(?:[:=\u2502]|\bis\b)?\s*`;

const epochOf = new RegExp(
  String.raw`\bepochs?\b${assign}["'[(]?(\d+(?:\.\d+)?)(?:\s*(?:/|of)\s*(\d+))?`,
  'i',
);
const stepOf =
  /\b(?:steps?|iters?|iterations?|batch(?:es)?)\b["']?\s*[:=]?\s*[[(]?(\d+)(?:\s*(?:\/|of)\s*(\d+))?/i;
// PyTorch's examples write `[640/60000 (1%)]` or `1/6 [640/60000 (1%)]`,
// progress bars `45/100 [00:10<00:12` or `1.5k/60k [`.
// torchvision writes `Epoch: [0]  [  10/5004]`, PyTorch's quickstart `loss: 2.3  [   64/60000]`.
const fractionsOf = [
  /\[\s*(\d+)\/(\d+)\s*\(/,
  /\b(\d+(?:\.\d+)?[kMG]?)\/(\d+(?:\.\d+)?[kMG]?)\s*\[/,
  /\]\s*\[\s*(\d+)\/(\d+)\s*\]/,
  /\d\s+\[\s*(\d+)\/(\d+)\]\s*$/,
];
/** timm: `Train: 3 [  50/1251 (  4%)]`; Swin: `Train: [3/300][50/1251]`. */
const trainOf = /(?:^\W*|\sINFO\s+)train\s*:\s*\[?(\d+)(?:\/(\d+)\])?\s*\[/i;
const waitedOf = new RegExp(String.raw`\bwaited["']?\s*[:=]\s*${numeral}`, 'i');

/** Names of two words, which are one metric: `F1 score` → `f1_score`. */
const twoWords =
  /\b(?:(?:f1|r2)[ -]score|(?:roc|pr)[ -]auc|log[ -]loss|balanced[ -]accuracy|average[ -]precision)\b/gi;
/** `Accuracy of the network on the 10000 test images: 55 %`; but not of a class, or of another model. */
const ofModel = new RegExp(
  [
    String.raw`\b(accuracy|loss|perplexity) (?:of|for) (?:(?:the|our|this) )?(?:trained |final )?`,
    String.raw`(?:model|network|net|classifier)(?: on (?:the )?(?:\d+ )?${passWord}(?: (?!class)\w+)?)?`,
    String.raw`(?=\s*[:=]|\s+is\b)`,
  ].join(''),
  'gi',
);
const joinWords = (text: string): string =>
  text
    .replaceAll(ofModel, (_, what: string, pass = '') => `${pass} ${what}`)
    .replaceAll(twoWords, (words: string) => words.toLowerCase().replace(/[ -]/, '_'));

/** Metrics that count after a pass, as in `val_f1`, or in a line that has nothing but figures. */
const otherFigures = anyOf(String.raw`
  top-?\d error f1(?:_score)? (?:roc_|pr_)?auc r2(?:_score)? log_loss balanced_accuracy
  average_precision precision recall ppl perplexity bleu rmse m[as]e m?iou dice [wc]er mcc
`);

/** `loss: 0.3`, `acc = 91 %`, `Accuracy: 9909/10000`, `Acc@1 71.2`; whose they are is written before them. */
const figureOf = new RegExp(
  String.raw`((?:total_)?loss(?:_step)?|acc(?:uracy|@?\d)?(?:_step)?|prec@\d|${otherFigures})` +
    String.raw`\b\.?(${assign})${numeral}(?:\s*/\s*(\d+))?\s*(%)?`,
  'gi',
);
const anyPass = /train|val|dev|test/i;
/** A figure's own pass: `Val. `, `test set average `, or part of its name, as in `val_` and `test/`. */
const ownPass = new RegExp(
  String.raw`(?<![\w/.])${passWord}(?:\.?\s+(?:set\s+)?(?:(?:average|avg|mean|total)\.?\s+)?|([_./-]))$`,
  'i',
);
/** The pass of all that follows: at a line's beginning, or `… INFO Test set: `. */
const firstPass = new RegExp(String.raw`^\W*${passWord}\b(?![./-]\w)`, 'i');
const headPass = new RegExp(
  String.raw`^.*(?<![\w/.])${passWord}(?:\s+(?:set|results?|metrics))?\s*[:|>](?!\s*[-+.\d])`,
  'is',
);
/** `loss` of `kl_loss` or `aux/loss` is not the loss, and the best so far is not the latest. */
const otherName = /^(?:[\w/@]|\w\.)$/;
const bestOf = /\b(?:best|lowest|highest|min|max)\b[^\d:=,;|]*$/i;

/** Adds a metric under its name; the first of each counts. */
function setMetric(found: Progress, name: string, value: number): void {
  if ((name === 'loss' || name === 'accuracy') && found[name] === undefined) found[name] = value;
  else if (name !== 'loss' && name !== 'accuracy') {
    found.metrics ??= {};
    if (!Object.hasOwn(found.metrics, name)) found.metrics[name] = value;
  }
}

/** `62.50 ( 77.81)`: the value of a batch, and the mean so far. */
const meanOf = new RegExp(String.raw`\s*\(\s*${numeral}%?\s*\)`, 'iy');

/** Figures among other words; the first ones are of this pass, unless they say otherwise. */
function addFigures(found: Progress, text: string, ofLine: string, names: TrainNames): void {
  let end = 0;
  let isFirst = true;
  let pass = ofLine;
  const isMean = hasMeans(text);
  figureOf.lastIndex = 0;
  for (let match = figureOf.exec(text); match !== null; match = figureOf.exec(text)) {
    const [, written = '', sign = '', last = '', total, percent] = match;
    const gap = text.slice(end, match.index);
    end = meanOf.lastIndex = figureOf.lastIndex;
    const value = (isMean ? meanOf.exec(text)?.[1] : undefined) ?? last;
    const hasPass = anyPass.test(gap);
    const head = hasPass ? (headPass.exec(gap) ?? (isFirst ? firstPass.exec(gap) : null)) : null;
    // What a line about the training has is its own.
    if (head?.[1] !== undefined) pass = passOf(head[1]).replace('train_', '');
    isFirst = false;
    const own = hasPass ? ownPass.exec(gap) : null;
    const ofFigure = own?.[1] === undefined ? pass : passOf(own[1]);
    // `Val Loss: 0.8 | Acc: 0.6` is one pass; `val_loss=0.8 loss=0.9` are two.
    if (own !== null && own[2] === undefined) pass = ofFigure;
    const words = own === null ? gap : gap.slice(0, own.index);
    if (otherName.test(words.slice(-1)) || otherName.test(words.slice(-2)) || bestOf.test(words)) continue;
    // Of Lightning's bar, the step's value; detectron2 has the sum of several.
    const word = written.toLowerCase().replaceAll(/^total_|_step$/g, '');
    const isPercent = percent !== undefined || word.includes('@');
    const number = toNumber(value);
    // `9909/10000`, `99.1%` or `0.991`.
    const shareAs = (name: string): number => {
      if (total !== undefined && Number(total) > 0) return number / Number(total);
      return isPercent ? hundredth(number) : names.shareOf(name, number);
    };
    if (word === 'loss') setMetric(found, `${ofFigure}loss`, number);
    else if (word === 'acc' || word === 'accuracy')
      setMetric(found, `${ofFigure}accuracy`, shareAs(`${ofFigure}accuracy`));
    else if (own !== null || isTop(word, ofFigure) || (/[:=]|\./.test(sign + value) && isOnlyFigures(text))) {
      const name =
        ofFigure === '' && !/[@_-]/.test(word) ? written : `${ofFigure}${word.replaceAll(/[@-]/g, '')}`;
      setMetric(found, name, shareAs(name));
    }
  }
}

/** `Acc@1` says what it is; `acc1` does among the figures of a test. */
const isTop = (word: string, pass: string): boolean =>
  word.includes('@') || (pass !== '' && /^acc\d$/.test(word));

const passesOf = new RegExp(passWord, 'gi');
const figuresOf = new RegExp(figureOf, 'gi');
/** `epoch 3, loss: 0.5 | F1: 0.8`: beside its figures and their place, the line says nothing. */
function isOnlyFigures(text: string): boolean {
  const rest = [figuresOf, epochOf, stepOf, passesOf].reduce((left, form) => left.replace(form, ' '), text);
  return !/[\p{L}\p{N}]/u.test(rest);
}

const wordIn = (words: string): RegExp => new RegExp(`(?:^|[^a-z])(?:${anyOf(words)})(?![a-z])`, 'i');

/** Words that a metric's name has, and those that only settings have. */
const metricWord = wordIn(String.raw`
  loss acc(?:uracy)? err(?:or)? m[as]p?e rmse msle mape f1 f_?beta p?r?auc auroc ap map precision recall
  specificity sensitivity m?iou dice bleu rouge[12l]? meteor wer cer perplexity ppl nll elbo kld?
  bp[bcd] r2 r² ndcg mrr hits psnr ssim lpips fid mcc kappa corr(?:elation)? pearsonr? spearmanr? score
  reward return entropy top_?\d
`);
const settingWord = wordIn(`
  best scale scaler weights? coeff? coefficient factor threshold lambda alpha type fn lr rate norm
  per_second runtime time steps? delta num n
`);
const isMetricName = (name: string): boolean => metricWord.test(name) && !settingWord.test(name);

/** A key with its number. */
const itemOf = new RegExp(
  String.raw`["']([^"']{1,60})["']\s*:\s*` +
    String.raw`["']?(?:(?:np|torch|numpy)\.)?(?:\w+\()?${numeral}(?=["',)}\s]|$)`,
  'gi',
);

/** `{"loss": 0.3}`, `{'eval_f1': 0.5}`. */
function addItems(found: Progress, text: string, names: TrainNames): void {
  for (const [, name = '', value = ''] of text.matchAll(itemOf)) {
    const known = knownName(name);
    if (known !== undefined && isMetricName(name))
      setMetric(found, known, names.shareOf(known, toNumber(value)));
  }
}

/** `accuracy    0.92    314`: columns of a table, such as scikit-learn's report, whose numbers are rounded. */
const isTableRow = (line: string): boolean =>
  /^\s*[a-z][\w./@-]*(?: [\w./@-]+)*(?:(?: {2,}|\t\s*)[-+.\d]+){2,}\s*$/i.test(line.slice(0, 200));

/** What one line of a training's output says, by the conventions of common training programs. */
export function progressOfLine(line: string, names = new TrainNames(), passes = new PrintedPass()): Progress {
  const text = line.slice(0, 2000);
  if (isTableRow(text)) return {};
  const found: Progress = {};
  const epoch = epochOf.exec(text) ?? trainOf.exec(text);
  if (epoch !== null) setPair(found, 'epoch', 'epochs', epoch[1], epoch[2]);
  // 0.0 is no number of an epoch, but how much is done.
  if (epoch?.[1] === '0') found.firstEpoch = 0;
  const step = stepOf.exec(text) ?? fraction(text);
  if (step !== undefined) setPair(found, 'step', 'steps', step[1], step[2]);
  const pass = passes.at(text);
  if (/^\s*\{/.test(text)) addItems(found, text, names);
  else addFigures(found, joinWords(text), pass, names);
  const waited = waitedOf.exec(text)?.[1];
  if (waited !== undefined && Number(waited) >= 0) found.waited = Number(waited);
  // Hugging Face's last line has the mean of all its losses.
  return withDone(/["']train_runtime["']/.test(text) ? found : names.settle(found));
}

const ownNames = ['loss', 'accuracy'] as const;

/** `train_loss` is the loss, unless the training has a `loss`, too: one is of a pass, the other of a batch. */
export class TrainNames {
  readonly #plain = new Set<string>();
  readonly #shared = new Set<string>();
  #parted: (typeof ownNames)[number][] = [];
  readonly #scales = new Map<string, MetricScale>();
  #newScales: Record<string, MetricScale> = {};

  /** An accuracy without a unit as a share of one: if any value of it is more than 1, all are percentages. */
  shareOf(of: string, value: number): number {
    if (!isAccuracy(of)) return value;
    const name = of.replace(/^train_(?=accuracy$)/, '');
    // 1.0000001 is rounded.
    const isPercent = this.#scales.get(name) === 'percent' || (value > 1.001 && value <= 100);
    const scale = isPercent ? 'percent' : 'bare';
    if (value > 0 && this.#scales.get(name) !== scale) {
      this.#scales.set(name, scale);
      this.#newScales[name] = scale;
    }
    return isPercent && value <= 100 ? hundredth(value) : value;
  }

  /** The scales that were found since the last call: of what is in percent now, all before was, too. */
  takeScales(): Record<string, MetricScale> {
    const found = this.#newScales;
    this.#newScales = {};
    return found;
  }

  settle(found: Progress): Progress {
    for (const name of ownNames) {
      if (found[name] !== undefined && !this.#plain.has(name)) {
        this.#plain.add(name);
        if (this.#shared.has(name)) this.#parted.push(name);
      }
      const value = found.metrics?.[`train_${name}`];
      if (value === undefined || this.#plain.has(name)) continue;
      this.#shared.add(name);
      found[name] = value;
      delete found.metrics?.[`train_${name}`];
      if (Object.keys(found.metrics ?? {}).length === 0) delete found.metrics;
    }
    return found;
  }

  /** Those that turned out to be two since the last call: what was settled before was of the pass. */
  takeParted(): (typeof ownNames)[number][] {
    return this.#parted.splice(0);
  }
}

/** Results without a step, beside an epoch, come at its end; `'epoch': 1.5` counts what is done. */
function withDone(found: Progress): Progress {
  const { epoch, step, loss, accuracy, metrics = {} } = found;
  const isEvaluated = Object.keys(metrics).some((name) => /^(?:train|val|test|eval)/i.test(name));
  const isAtEnd = step === undefined && ((loss ?? accuracy) !== undefined || isEvaluated);
  if (epoch !== undefined && (isAtEnd || !Number.isInteger(epoch))) found.done = epoch;
  return found;
}

const isOwnField = (name: string): name is (typeof progressFields)[number] =>
  (progressFields as readonly string[]).includes(name);

/** Names of other metrics, as any table or file can carry them: `F1 (macro)` → `F1_macro`. */
const safeName = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}_./@%:+-]+/gu, '_').replaceAll(/^[./@%:+-]+|(?<=.)_+$/g, '');

const ofPass = new RegExp(String.raw`^(?:${passWord}[ ._/-]+)?(loss|acc|accuracy)$`, 'i');

/** What a metric is called here: a loss or accuracy by its pass, another as it calls itself, if that is a name. */
function knownName(name: string): string | undefined {
  const [, pass, what] = ofPass.exec(name.replace('. ', ' ')) ?? [];
  if (what !== undefined)
    return `${pass === undefined ? '' : passOf(pass)}${what.toLowerCase() === 'loss' ? 'loss' : 'accuracy'}`;
  const safe = safeName(name);
  if (!/\p{L}/u.test(safe) || safe.length > maxMetricName) return undefined;
  // What every object has, like `constructor`, is no name to look up.
  return safe in Object.prototype ? `${safe}_` : safe;
}

/** One line of the file that `$UPDRAFT_PROGRESS` names: a JSON object with some fields; other numbers are metrics. */
export function progressOfRecord(line: string, names = new TrainNames()): Progress {
  // Python writes NaN and Infinity, which are not JSON.
  const text = line.replace(/:\s*(-?)(NaN|Infinity)\b/g, ': "$1$2"');
  const value = jsonTable(text);
  if (value === undefined) return {};
  const found: Progress = /"epoch":\s*0\s*[,}]/.test(text) ? { firstEpoch: 0 } : {};
  const isNumber = (field: unknown): boolean =>
    typeof field === 'number' || field === 'NaN' || /^-?Infinity$/.test(String(field));
  const numbers = Object.entries(value).filter(([, field]) => isNumber(field));
  const fields = oneOfEach(new Map(numbers));
  for (const [name, field] of fields) if (isOwnField(name)) found[name] = names.shareOf(name, Number(field));
  for (const [name, field] of fields) {
    if (isOwnField(name)) continue;
    // One that is no name is counted where it is refused.
    const known = knownName(name) ?? name;
    setMetric(found, known, names.shareOf(known, Number(field)));
  }
  return withDone(names.settle(found));
}

/** Lightning has `x_step` and `x_epoch` of one metric, and perhaps `x` itself: that, or else the epoch's, counts. */
function oneOfEach<T>(values: ReadonlyMap<string, T>): [name: string, value: T][] {
  const partOf = (name: string): string | undefined => /^(.+)_(?:step|epoch)$/.exec(name)?.[1];
  const wholes = new Set(
    [...values.keys()].flatMap((name) => (name.endsWith('_epoch') ? (partOf(name) ?? []) : [])),
  );
  return [...values].flatMap(([name, value]) => {
    const whole = partOf(name);
    if (whole === undefined || (!wholes.has(whole) && !values.has(whole))) return [[name, value]];
    return name.endsWith('_epoch') && !values.has(whole) ? [[whole, value]] : [];
  });
}

function fraction(text: string): RegExpExecArray | undefined {
  if (!text.includes('[')) return undefined;
  return (
    fractionsOf.reduce<RegExpExecArray | null>((found, form) => found ?? form.exec(text), null) ?? undefined
  );
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
