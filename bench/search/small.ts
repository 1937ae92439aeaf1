import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Rungs } from '../../src/search/rungs.ts';
import { markdownTable } from '../markdown-table.ts';
import { sampled } from './curves.ts';
import { type Setting, simulate } from './simulate.ts';

/**
 * `node bench/search/small.ts FILE…`: a hundred searches of 60 trials on 8 slots, a third of whose attempts is evicted,
 * over each file of curves that curves.py recorded: what rungs, and judging again, do to slot time and to the best.
 */
const searches = 100;

const ways: [epochs: number[], eta: number, how?: 'judged once' | 'in rounds'][] = [
  [[1, 3, 9, 27], 3, 'judged once'],
  [[1, 3, 9, 27], 3],
  [[1, 4, 27], 4, 'judged once'],
  [[1, 4, 27], 4],
  [[1, 5, 27], 4],
  [[1, 6, 27], 4],
  [[1, 3, 27], 3],
  [[1, 27], 8],
  [[1, 27], 8, 'in rounds'],
  [[1, 6, 27], 4, 'in rounds'],
];

/** Curves of which more is better. */
function readCurves(file: string): { isLowerBetter: boolean; curves: number[][] } {
  const { isLowerBetter, curves } = JSON.parse(readFileSync(file, 'utf8')) as {
    isLowerBetter: boolean;
    curves: (number | null)[][];
  };
  const risen = (value: number | null): number =>
    value === null ? -Infinity : isLowerBetter ? -value : value;
  return { isLowerBetter, curves: curves.map((curve) => curve.map(risen)) };
}

const percent = (values: readonly boolean[]): string =>
  `${Math.round((100 * values.filter(Boolean).length) / values.length)} %`;
const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * values.length)] ?? NaN;

for (const file of process.argv.slice(2)) {
  const { isLowerBetter, curves } = readCurves(file);
  const rows = ways.map(([budgets, eta, how]) => {
    const rungs: Rungs = { metric: 'metric', isLowerBetter: false, unit: 'epochs', budgets, eta };
    const found = Array.from({ length: searches }, (_, seed) => {
      const common: Setting = {
        ...{ rungs, seed, slots: 8, epochSeconds: 600, setUpSeconds: 100, meanLifeSeconds: 9 * 3600 },
        ...{ curves: sampled(curves, 60, seed), isJudgedOnce: how === 'judged once' },
      };
      const [full, asha] = [
        simulate('full', common),
        simulate(how === 'in rounds' ? 'halving' : 'asha', common),
      ];
      const gap = (full.best - asha.best) / Math.abs(full.best);
      return { ratio: asha.slotSeconds / full.slotSeconds, gap, lost: 60 - asha.ended };
    });
    const ratios = found.map(({ ratio }) => ratio);
    return [
      `${budgets.join(', ')}; ${eta}${how === undefined ? '' : `, ${how}`}`,
      quantile(ratios, 0.5).toFixed(3),
      quantile(ratios, 0.9).toFixed(3),
      percent(found.map(({ gap }) => gap <= 0.01)),
      `${(
        100 *
        quantile(
          found.map(({ gap }) => gap),
          0.9,
        )
      ).toFixed(1)} %`,
      percent(found.map(({ ratio, gap }) => ratio <= 0.15 && gap <= 0.01)),
      String(found.reduce((sum, { lost }) => sum + lost, 0)),
    ];
  });
  console.log(`\n${path.basename(file)}${isLowerBetter ? ', less is better' : ''}\n`);
  const head = [
    'rungs; eta',
    'slot time ÷ all',
    '9 of 10 below',
    'within 1 %',
    '9 of 10 behind by',
    'both',
    'lost',
  ];
  console.log(markdownTable(head, rows));
}
