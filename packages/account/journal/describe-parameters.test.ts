import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  distinguishingParameters,
  jobLabel,
  jobNames,
  parameterColumns,
  type Parameters,
  withJsonNumbers,
} from './describe-parameters.ts';

const namesOf = (...cells: Parameters[]): string[] => [
  ...jobNames(cells.map((parameters, at) => ({ id: `000${at}`, parameters }))).values(),
];

test('a job is named by the parameters in which the jobs of its run differ', () => {
  assert.deepEqual(namesOf({ lr: 0.1, augment: true, seed: 1 }, { lr: 0.2, augment: true, seed: 1 }), [
    'lr=0.1',
    'lr=0.2',
  ]);
  assert.deepEqual(namesOf({ keep: '', seed: 2 }, { keep: '1 GB', seed: 2 }), ["keep=''", 'keep=1 GB']);
  assert.deepEqual(namesOf({ seed: 2 }, { keep: '1 GB', seed: 2 }), ['', 'keep=1 GB']);
  assert.deepEqual(namesOf({}, {}), ['', '']);
  assert.equal(jobLabel('0003', 'lr=0.1'), '0003 lr=0.1');
  assert.equal(jobLabel('0003'), '0003');
});

test('long values that alone differ are in the name, and stay different', () => {
  const models = ['bert-base-uncased', 'distilbert-base-uncased'];
  assert.deepEqual(namesOf(...models.map((model) => ({ model, epochs: 3 }))), [
    'model=bert…',
    'model=distilbert…',
  ]);
  const urls = ['osdf:///chtc/public/images.tar', 'osdf:///chtc/public/texts.tar'];
  assert.deepEqual(namesOf(...urls.map((url) => ({ url }))), ['url=images.tar', 'url=texts.tar']);
  const folders = ['/scratch/a-long-path/train', '/scratch/another/train'];
  assert.deepEqual(namesOf(...folders.map((data) => ({ data }))), [
    'data=a-long-path/train',
    'data=another/train',
  ]);
});

test('a long value is left out where a short one says the same', () => {
  const ways = [
    { method: 'osdf', url: 'osdf:///chtc/public/images.tar' },
    { method: 'on-demand', url: 'osdf:///chtc/public/images.shards.json' },
  ];
  assert.deepEqual(namesOf(...ways), ['method=osdf', 'method=on-demand']);
});

test('an only job is named by all its parameters', () => {
  assert.deepEqual(namesOf({ model: '/models/by/someone/distilbert', lr: 0.1 }), ['model=distilbert lr=0.1']);
});

test('long fractions are rounded, and names with dots shortened, while they stay different', () => {
  assert.deepEqual(namesOf({ 'optim.lr': 0.0031622776601683794 }, { 'optim.lr': 0.01 }), [
    'lr=0.003162',
    'lr=0.01',
  ]);
  assert.deepEqual(namesOf({ lr: 0.123456781 }, { lr: 0.123456782 }), ['lr=0.123456781', 'lr=0.123456782']);
  const cells = [
    { 'a.lr': 1, 'b.lr': 1 },
    { 'a.lr': 2, 'b.lr': 2 },
  ];
  assert.deepEqual(namesOf(...cells), ['a.lr=1 b.lr=1', 'a.lr=2 b.lr=2']);
});

test('names are unique in a run of any values', () => {
  const texts = [
    'x'.repeat(40),
    `${'x'.repeat(20)}y${'x'.repeat(19)}`,
    `${'x'.repeat(21)}y${'x'.repeat(18)}`,
  ];
  const names = namesOf(...texts.map((text) => ({ text })));
  assert.equal(new Set(names).size, 3);
  for (const name of names) assert.ok(name.length <= 'text='.length + 20, name);
});

const names = ['url', 'method', 'keep', 'lr'];
const url = 'osdf:///a/long/enough.tar';

test('cells are named by the fewest parameters that distinguish them, short values first', () => {
  const ways = [
    { url, method: 'osdf', keep: '' },
    { url: `${url}2`, method: 'on-demand', keep: '1 GB' },
  ];
  assert.deepEqual(distinguishingParameters(ways, names), ['method']);
  const swept = ways.flatMap((way) => [1, 2].map((lr) => ({ ...way, lr })));
  assert.deepEqual(distinguishingParameters(swept, names), ['method', 'lr']);
});

test('a long value names a cell where nothing else does', () => {
  const cells = [
    { url, method: 'osdf', lr: 1 },
    { url: `${url}2`, method: 'osdf', lr: 1 },
  ];
  assert.deepEqual(distinguishingParameters(cells, names), ['url']);
  assert.deepEqual(distinguishingParameters(cells.slice(1), names), []);
});

test('a number of a job file is a number in JSON, and elsewhere as it was written', () => {
  const given: Parameters[] = [
    { lr: '1e-4', seed: '9007199254740993', python: '3.10', wd: '0.0', to: '1.', code: '007' },
    { lr: 0.001, seed: 1, python: '3.9', wd: 'auto', to: '.5', code: '1e999' },
  ];
  const cells = withJsonNumbers(given);
  assert.deepEqual(cells, given);
  assert.deepEqual(JSON.parse(JSON.stringify(cells)), [
    { lr: 0.0001, seed: '9007199254740993', python: '3.10', wd: 0, to: 1, code: '007' },
    { lr: 0.001, seed: 1, python: '3.9', wd: 'auto', to: 0.5, code: '1e999' },
  ]);
});

const hydra = [
  { 'optimizer.params.weight_decay': 0, 'optimizer.params.lr': '1e-05', net: 'small', seed: 1 },
  { 'optimizer.params.weight_decay': 0.1, 'optimizer.params.lr': 0.1, seed: 1 },
];

test('each parameter in which jobs differ is a column with a short title; numbers are known as such', () => {
  const columns = parameterColumns(hydra);
  assert.deepEqual(
    columns.map(({ title, isNumber, texts }) => ({ title, isNumber, texts })),
    [
      { title: 'weight_decay', isNumber: true, texts: ['0', '0.1'] },
      { title: 'lr', isNumber: true, texts: ['1e-05', '0.1'] },
      { title: 'net', isNumber: false, texts: ['small'] },
    ],
  );
});

test('titles and values too long for a column are cut, and stay different', () => {
  const long = (end: string) => `x${'-of-a-long-name'.repeat(3)}-${end}`;
  const parameters = (value: string) => ({ [long('a')]: long(value), [long('b')]: value });
  const columns = parameterColumns(['a', 'b'].map(parameters));
  const titles = columns.map(({ title }) => title);
  assert.equal(new Set(titles).size, 2);
  assert.equal(new Set(columns[0]?.texts).size, 2);
  for (const text of [...titles, ...(columns[0]?.texts ?? [])]) assert.ok(text.length <= 20, text);
});
