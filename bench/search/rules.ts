import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Rungs } from '../../src/search/rungs.ts';
import { median } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { curvesOf, epochs, sampled } from './curves.ts';
import { simulate } from './simulate.ts';

// A hundred searches over recorded curves: the decisions of Updraft, Optuna and Ray Tune, each by its own code.
const { values } = parseArgs({
  options: {
    /** One that has the peers: `pip install optuna 'ray[tune]'`. */
    python: { type: 'string', default: 'python3' },
    searches: { type: 'string', default: '100' },
    trials: { type: 'string', default: '60' },
    recorded: { type: 'string', default: '300' },
  },
});

interface Found {
  epochs: number;
  best: number;
}

const recorded = curvesOf(Number(values.recorded), 0);
const searches = Array.from({ length: Number(values.searches) }, (_, seed) =>
  sampled(recorded, Number(values.trials), seed),
);

function byPeer(name: string): Found[] {
  const script = path.join(import.meta.dirname, 'peers', 'rules.py');
  const out = execFileSync(values.python, [script, name], {
    input: JSON.stringify(searches),
    encoding: 'utf8',
  });
  return JSON.parse(out) as Found[];
}

const byUpdraft = (budgets: number[], eta: number, isJudgedOnce = false): Found[] =>
  searches.map((curves, seed) => {
    const rungs: Rungs = { metric: 'val_accuracy', isLowerBetter: false, unit: 'epochs', budgets, eta };
    const calm = { slots: 4, epochSeconds: 1, setUpSeconds: 0, meanLifeSeconds: Infinity };
    const { slotSeconds, best } = simulate('asha', { ...calm, rungs, curves, seed, isJudgedOnce });
    return { epochs: slotSeconds, best };
  });

const ways: [string, Found[]][] = [
  ['Updraft', byUpdraft([1, 3, 9, epochs], 3)],
  ['Updraft, judged once', byUpdraft([1, 3, 9, epochs], 3, true)],
  ['Updraft, rungs 1, 6, 27, eta 4', byUpdraft([1, 6, epochs], 4)],
  ['Updraft, rungs 1, 5, 27, eta 3', byUpdraft([1, 5, epochs], 3)],
  ['Updraft, eta 2', byUpdraft([1, 3, 9, epochs], 2)],
  ['Optuna', byPeer('optuna')],
  ['Ray Tune', byPeer('ray')],
];
const bests = searches.map((curves) => Math.max(...curves.flat()));
const percent = (all: boolean[]): string =>
  `${Math.round((100 * all.filter(Boolean).length) / all.length)} %`;
const rows = ways.map(([name, found]) => {
  const gaps = found.map(({ best }, at) => 1 - best / (bests[at] ?? NaN));
  const used = median(found.map((one) => one.epochs));
  return [
    name,
    used.toFixed(0),
    (used / (Number(values.trials) * epochs)).toFixed(3),
    `${(100 * median(gaps)).toFixed(2)} %`,
    `${((100 * gaps.reduce((sum, gap) => sum + gap, 0)) / gaps.length).toFixed(2)} %`,
    percent(gaps.map((gap) => gap <= 0.01)),
  ];
});
console.log(
  markdownTable(['', 'epochs, median', '÷ all', 'best behind, median', 'mean', 'within 1 %'], rows),
);
