import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitNames, fitTable, type FitColumn } from './fit-table.ts';

function textTable(columns: readonly FitColumn[], rows: readonly (readonly string[])[]): string[] {
  const table = fitTable(columns, rows, Infinity);
  return [...table.head, ...table.rows];
}

const right = (title: string, rank?: number) => ({
  ...{ title, align: 'right' as const },
  ...(rank === undefined ? {} : { rank }),
});
const linesOf = ({ head, rows }: ReturnType<typeof fitTable>): string[] => [...head, ...rows];

test('columns are aligned, and columns that are empty in every row are left out', () => {
  assert.deepEqual(
    textTable(
      [{ title: 'job' }, { title: 'empty' }, right('n')],
      [
        ['größe', '', '7'],
        ['b', '', '100'],
      ],
    ),
    ['job      n', 'größe    7', 'b      100'],
  );
});

test('a page without a width has everything in full', () => {
  const long = 'x'.repeat(500);
  assert.deepEqual(
    textTable([{ title: 'job' }, { title: 'a_long_title' }], [['1', long]]).at(-1),
    `1    ${long}`,
  );
});

test('long titles are folded between their words before anything is cut', () => {
  const columns = [{ title: 'job' }, right('mean_intersection_over_union'), right('seed')];
  assert.deepEqual(linesOf(fitTable(columns, [['0000', '0.8', '1']], 30)), [
    '              mean_',
    '      intersection_',
    'job      over_union  seed',
    '0000            0.8     1',
  ]);
});

test('words are cut so that different ones stay different; numbers never', () => {
  const rows = [
    ['0000', 'timm-efficientnet-b4-noisy-student', '20260101'],
    ['0001', 'timm-efficientnet-b4-imagenet', '1234'],
  ];
  const { rows: lines, hidden } = fitTable([{ title: 'job' }, { title: 'model' }, right('seed')], rows, 36);
  assert.deepEqual(hidden, []);
  assert.ok(lines.every((line) => line.length <= 36 && line.includes('…')));
  assert.match(lines.join('\n'), /^0000 .*student +20260101\n0001 .*imagenet +1234$/);
});

test('what does not fit is left out by its rank and named completely, an asked column never', () => {
  const columns = [
    { title: 'job' },
    right('lr', 2),
    right('accuracy', 0),
    right('loss', 3),
    right('tries', 3),
  ];
  const at = (width: number) => fitTable(columns, [['0000', '0.00001', '0.91', '0.3131', '1']], width);
  assert.deepEqual(at(33).hidden, ['tries']);
  assert.deepEqual(at(24).hidden, ['loss', 'tries']);
  assert.deepEqual(at(17).hidden, ['lr', 'loss', 'tries']);
  assert.match(linesOf(at(17)).join('\n'), /accuracy\n0000 +0\.91/);
});

test('names give way to shorter ones, then lose parts of their words', () => {
  const names = [
    '0000 model=distilbert-base-uncased lr=0.0001 tag=a b',
    '0001 model=microsoft/deberta-v3-small lr=0.0001 tag=c',
  ];
  const words = ['0000 distilbert-base-uncased 0.0001 a\u00a0b', '0001 microsoft/deberta-v3-small 0.0001 c'];
  const texts = new Map(names.map((name, at) => [name, words[at] ?? '']));
  const columns = [{ title: 'JOB', short: { title: 'JOB, model, lr, tag', texts } }, right('TRY')];
  const at = (width: number) =>
    linesOf(
      fitTable(
        columns,
        names.map((name) => [name, '1']),
        width,
      ),
    );
  assert.deepEqual(at(100)[1], `${names[0]}     1`);
  assert.deepEqual(at(48), [
    'JOB, model, lr, tag                       TRY',
    '0000 distilbert-base-uncased 0.0001 a b     1',
    '0001 microsoft/deberta-v3-small 0.0001 c    1',
  ]);
  assert.deepEqual(at(38).slice(1), [
    '0000 distilbert-base-… 0.0001 a b    1',
    '0001 microsoft/debert… 0.0001 c      1',
  ]);
  assert.equal(fitNames(names, 100), names);
  assert.deepEqual(fitNames(words, 27), ['0000 distilbert… 0.0001 a\u00a0b', '0001 microsoft/… 0.0001 c']);
});

test('numbers that do not fit make lines longer, and a name is whole where it must be', () => {
  const columns = [{ title: 'job' }, right('loss', 0), right('accuracy', 0)];
  const rows = ['0.734375', '0.734999'].map((value) => ['0000', '0.123456', value]);
  assert.deepEqual(fitTable(columns, rows, 16).rows, [
    '0000  0.123456  0.734375',
    '0000  0.123456  0.734999',
  ]);
  const name = 'segmentation-benchmark-of-many-encoders-k3v9q1';
  const runs = [{ title: 'RUN', minWidth: Infinity }, { title: 'STATE', rank: 0 }, { title: 'NOTE' }];
  assert.deepEqual(fitTable(runs, [[name, 'success', '']], 40).rows, [`${name}  success`]);
  const [line = ''] = fitTable(runs, [[name, 'success', 'a note']], 40).rows;
  assert.ok(line.startsWith(`${name}  success`), line);
});

test('names without room for all their words keep those in which they differ most', () => {
  const seeds = ['20260101', '20260102', '20260103'];
  const names = seeds.map((seed) => `0.00001 0.00001 ${seed}`);
  assert.deepEqual(
    fitNames(names, 20),
    seeds.map((seed) => `… 0.00001 ${seed}`),
  );
  const cells = seeds.flatMap((seed) => ['0.00001', '0.00002'].map((lr) => `${lr} ${seed}`));
  const cut = fitNames(cells, 12);
  assert.equal(new Set(cut).size, cells.length);
  assert.deepEqual(fitNames(['0.734375', '0.734999'], 5), ['0.734375', '0.734999']);
});
