import type { Progress } from '@updraft/account/journal';

export const passWord = String.raw`(train(?:ing)?|val(?:id(?:ation)?)?|dev|eval(?:uation)?|test(?:ing)?)`;

export const passOf = (word: string): string => {
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
export const hasMeans = (line: string): boolean => position.test(line) || sumsUp.test(line);

/** The latest value of each field. */
export function mergeProgress(parts: Progress[]): Progress {
  const merged = Object.assign({}, ...parts) as Progress;
  if (merged.metrics !== undefined)
    merged.metrics = Object.assign({}, ...parts.map(({ metrics }) => metrics)) as Record<string, number>;
  return merged;
}
