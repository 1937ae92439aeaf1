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
  assert.deepEqual(fitNames(names, 26), {
    texts: ['0000 dist… 0.0001 20260101', '0001 micr… 0.0001 42'],
    keys: 'model, lr, seed',
  });
  assert.deepEqual(fitNames(names, 100), { texts: names, keys: '' });
});

test('a value with a "=" of its own loses no more than its end', () => {
  const call = 'sklearn.svm.SVC(kernel=rbf,C=1.0,gamma=scale)';
  for (const names of [
    ['LogisticRegression', call],
    ['base', 'model.optimizer.lr=0.1_of_the_first_stage'],
  ]) {
    const { texts, keys } = fitNames(names, 30);
    assert.equal(keys, '');
    texts.forEach((text, at) => assert.ok(names[at]?.startsWith(text.replace(/…$/, '')), text));
  }
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
  const names = seeds.map((seed) => `lr=0.00001 wd=0.00001 seed=${seed}`);
  assert.deepEqual(
    fitNames(names, 20).texts,
    seeds.map((seed) => `… 0.00001 ${seed}`),
  );
  const cells = seeds.flatMap((seed) => ['0.00001', '0.00002'].map((lr) => `${lr} ${seed}`));
  const cut = fitNames(cells, 12).texts;
  assert.equal(new Set(cut).size, cells.length);
  assert.deepEqual(fitNames(['0.734375', '0.734999'], 5).texts, ['0.734375', '0.734999']);
});

test('names of rows keep their values, also those with spaces, before other columns stay', () => {
  const names = ['sgd', 'an "odd" one'].flatMap((opt, at) =>
    ['-1', '-0.5'].map(
      (momentum, more) => `000${2 * at + more} lr=0.0001 wd=0.0004 opt=${opt} momentum=${momentum}`,
    ),
  );
  const columns = [
    { title: 'JOB' },
    right('TRY', 2),
    { title: 'STATE', rank: 0 },
    { title: 'WHERE', rank: 3 },
  ];
  const { rows, hidden } = fitTable(
    [...columns, right('LOSS', 5)],
    names.map((name) => [name, '1', 'success', 'node-with-a-name', '0.12345678']),
    60,
  );
  assert.deepEqual(hidden, ['WHERE', 'LOSS']);
  const shown = rows.map((row) => row.slice(5).split('  ')[0]);
  assert.deepEqual(shown.slice(0, 2), ['0.0001 0.0004 sgd -1', '0.0001 0.0004 sgd -0.5']);
  assert.equal(new Set(shown).size, 4, rows.join('\n'));
});

test('a value with spaces and a "=" of its own is one word of a name', () => {
  const tags = ['two words here', 'hello', '<img src=x onerror=alert(1)>', 'k=v'];
  const columns = [{ title: 'JOB' }, { title: 'STATE' }];
  const rowsOf = (more: (at: number) => string) =>
    tags.map((tag, at) => [`000${at} tag=${tag}${more(at)}`, 'success']);
  assert.deepEqual(
    fitTable(
      columns,
      rowsOf(() => ''),
      34,
    ),
    {
      head: ['JOB, tag                   STATE'],
      rows: [
        '0000 two words here        success',
        '0001 hello                 success',
        '0002 <img src=x onerror=…  success',
        '0003 k=v                   success',
      ],
      hidden: [],
    },
  );
  const seeded = fitTable(
    columns,
    rowsOf((at) => ` seed=${at}`),
    36,
  );
  assert.equal(seeded.head[0], 'JOB, tag, seed               STATE');
  assert.deepEqual(seeded.rows.slice(1, 3), [
    '0001 hello 1                 success',
    '0002 <img src=x onerror=… 2  success',
  ]);
});
