import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitNames, fitTable, textTable } from './fit-table.ts';

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

test('names lose the keys that they share to the title, then parts of their words', () => {
  const names = [
    '0000 model=distilbert-base-uncased lr=0.0001 seed=20260101',
    '0001 model=microsoft/deberta-v3-small lr=0.0001 seed=42',
  ];
  const { head, rows } = fitTable(
    [{ title: 'JOB' }, right('TRY')],
    names.map((name) => [name, '1']),
    48,
  );
  assert.deepEqual(head, ['JOB, model, lr, seed                         TRY']);
  assert.deepEqual(rows, [
    '0000 distilbert-base-uncas… 0.0001 20260101    1',
    '0001 microsoft/deberta-v3-… 0.0001 42          1',
  ]);
  assert.deepEqual(fitNames(names, 26), ['0000 dist… 0.0001 20260101', '0001 micr… 0.0001 42']);
  assert.equal(fitNames(names, 100), names);
});
