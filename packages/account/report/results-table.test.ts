/** The table of `results`: columns, order, and what is left out on a narrow screen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachSpeed } from '../history/speeds.ts';
import type { JobTableRow } from './job-table.ts';
import { documentText } from '@updraft/view/document';
import { resultsCsv, resultsJson, resultsSection, sortResults } from './results-table.ts';

const row = (job: string, lr: number, accuracy: number | undefined, best = accuracy): JobTableRow => ({
  ...{ job, node: null, log: null, outcome: 'success', valid: true, sites: [], attempts: 1 },
  ...{ executeSeconds: 1800, slotBusySeconds: null, transferTotalSeconds: null, lastTransferSeconds: null },
  executeTotalSeconds: 3600,
  ...{ stalls: 0, holds: 0, evictions: 0, cause: null, loss: null, accuracy: accuracy ?? null },
  ...{ gpu: null, ...eachSpeed(() => null) },
  parameters: { lr },
  metrics: accuracy === undefined ? {} : { accuracy },
  best: best === undefined ? {} : { accuracy: best },
});
const rows = [
  row('0000', 0.1, 0.5, 0.75),
  row('0001', 0.01, NaN),
  row('0002', 0.001, 0.625),
  row('0003', 1, undefined),
];
const names = (sorted: JobTableRow[]): string[] => sorted.map(({ job }) => job);

test('results are sorted by any column; jobs without a value come last', () => {
  assert.deepEqual(names(sortResults(rows, { sort: '-accuracy' })), ['0002', '0000', '0001', '0003']);
  assert.deepEqual(names(sortResults(rows, { sort: 'accuracy', top: 2 })), ['0000', '0002']);
  assert.deepEqual(names(sortResults(rows, { sort: '-best_accuracy', top: 1 })), ['0000']);
  assert.deepEqual(names(sortResults(rows, { sort: 'lr' })), ['0002', '0001', '0000', '0003']);
  assert.throws(() => sortResults(rows, { sort: '-accurcy' }), /no column "accurcy"/);
});

test('trials of a search have their rung, and say that they were stopped early', () => {
  const trials = [
    { ...row('0000', 0.1, 0.5), rung: 3 },
    { ...row('0001', 0.2, 0.25), rung: 1, stoppedEarly: true as const },
  ];
  assert.deepEqual(
    [...resultsCsv(trials)].map((line) => line.trim()),
    [
      'job,lr,outcome,rung,accuracy,hours,tries',
      '0000,0.1,success,3,0.5,1,1',
      '0001,0.2,stopped-early,1,0.25,1,1',
    ],
  );
  assert.deepEqual(
    (resultsJson(trials) as JobTableRow[]).map(({ outcome, rung, stoppedEarly }) => [
      outcome,
      rung,
      stoppedEarly,
    ]),
    [
      ['success', 3, undefined],
      ['success', 1, true],
    ],
  );
  assert.ok(![...resultsCsv(rows)].join('').includes('rung'));
});

test('the table has parameters, then what it is sorted by, and the best where it is not the last', () => {
  const { columns: head, rows: cells } = resultsSection(rows.slice(0, 1), { sort: '-best_accuracy' });
  assert.deepEqual(
    head.map(({ title }) => title),
    ['job', 'lr', 'best_accuracy', 'outcome', 'accuracy', 'hours', 'tries'],
  );
  assert.deepEqual(cells, [['0000', '0.1', '0.75', 'success', '0.5', '1', '1']]);
  const lines = [...resultsCsv([{ ...row('0002', 0.001, 0.625), executeTotalSeconds: 5000.1 }])];
  const line = `0002,0.001,success,0.625,${5000.1 / 3600},1\n`;
  assert.deepEqual(lines, ['job,lr,outcome,accuracy,hours,tries\n', line]);
});

test('long names of parameters are short in the table, whole in CSV, and both can be sorted by', () => {
  const swept = rows.map((one, at) => ({
    ...one,
    parameters: { 'model.optimizer.lr': 1 - at / 10, 'model.encoder.depth': at },
    metrics: { loss: 1, accuracy: 0.5 },
  }));
  assert.deepEqual(names(sortResults(swept, { sort: 'lr' })), ['0003', '0002', '0001', '0000']);
  assert.deepEqual(sortResults(swept, { sort: 'model.optimizer.lr' }), sortResults(swept, { sort: 'lr' }));
  const ranks = resultsSection(swept, { sort: 'lr' }).columns.map(({ title, rank }) => `${title} ${rank}`);
  const all = ['job 0', 'lr 0', 'depth 2', 'outcome 1', 'loss 3', 'accuracy 1', 'best_accuracy 3'];
  assert.deepEqual(ranks.slice(0, 7), all, 'what decides stays beside what it is sorted by');
  assert.match([...resultsCsv(swept)].join(''), /^job,model\.optimizer\.lr,model\.encoder\.depth,outcome,/);
});

test('a job without a metric has none, whatever it is called', () => {
  const odd = { constructor: 3, toString: 4 } as unknown as Record<string, number>;
  const both = [{ ...row('0000', 1, undefined), metrics: odd, best: odd }, row('0001', 2, undefined)];
  const lines = [...resultsCsv(both)];
  assert.equal(lines[0], 'job,lr,outcome,constructor,toString,hours,tries\n');
  assert.equal(lines[2], '0001,2,success,,,1,1\n');
  assert.deepEqual(resultsSection(both).rows[1], ['0001', '2', 'success', '', '', '1', '1']);
  assert.ok(resultsSection(both).columns.every(({ rank }) => typeof rank === 'number'));
});

const glyphs = { done: '#', running: '+', failed: 'x', idle: '.' };

test('on a terminal of 80 columns, a long URL leaves room for the metrics', () => {
  const urls = ['cold', 'warm'].map((kind) => `osdf:///ospool/ap40/data/ann/images/train-2026-${kind}.tar`);
  const long = urls.map((url, index) => ({
    ...row(`000${index}`, 0.1, 0.5),
    parameters: { url, lr: index },
  }));
  const text = documentText([resultsSection(long)], 80, { glyphs });
  assert.match(text, /warm\.tar +1 +success +0\.5/);
  assert.ok(text.split('\n').every((line) => line.length <= 80));
  assert.ok(documentText([resultsSection(long)], Infinity, { glyphs }).includes(urls[0] ?? '?'));
});

test('a value with spaces is cut as a whole, not word by word', () => {
  const tags = [
    '$(touch /tmp/somewhere/long/FILE)',
    '`touch /tmp/somewhere/long/FILE`',
    'hello',
    'two words',
  ];
  const jobs = tags.map((tag, at) => ({ ...row(`000${at}`, 0, 0.5), parameters: { tag } }));
  const text = documentText([resultsSection(jobs)], 60, { glyphs });
  assert.match(
    text,
    /0000 {2}\$\(touch \/tmp\/\S*… .*\n.* `touch \/tmp\/\S*… .*\n.* hello .*\n.* two words /,
  );
});

test('the column sorted by stays beside long parameters, and what is left out is named completely', () => {
  const jobs = Array.from({ length: 8 }, (_, index) => ({
    ...row(`000${index}`, 0, 0.5),
    parameters: {
      dataset_archive_location: 'osdf:///ospool/ap40/data/ann/glue.tar',
      encoder_backbone_architecture: `timm-efficientnet-b4-noisy-student-${index % 4}`,
      decoder_channels_per_stage: `256,128,64,32,${index % 2}`,
      augmentation_policy_name: index < 4 ? 'albumentations-heavy' : 'albumentations-light',
      random_seed: 20260101 + index,
    },
    metrics: { loss: 0.25, accuracy: 0.5, mean_intersection_over_union: 0.123456 },
  }));
  const textAt = (width: number, sort?: string) =>
    documentText([resultsSection(jobs.slice(0, 5), { sort, all: jobs })], width, { glyphs });
  const total = resultsSection(jobs).columns.length;
  for (const width of [60, 80, 120, 200, Infinity])
    for (const name of ['accuracy', 'loss']) {
      const text = textAt(width, `-${name}`);
      const [table = '', notes = ''] = text.replaceAll(/\n {4}(?! )/g, ' ').split('  Same in all: ');
      assert.match(table, new RegExp(`\\b${name}\\b`));
      assert.match(notes, /^dataset_archive_location=osdf:\/\/\/ospool\/ap40\/data\/ann\/glue\.tar\.$/m);
      assert.ok(text.split('\n').every((line) => line.length <= Math.max(width, 68)));
      const [, hidden] = /Not shown at this width: ([^]*)\. To see all: a wider/.exec(notes) ?? [];
      const shown = table.trimEnd().split('\n').at(-1)?.trim().split(/ {2,}/) ?? [];
      assert.equal(shown.length + (hidden?.split(',').length ?? 0), total, text);
      assert.equal(hidden === undefined, width >= 120);
    }
  // What was given is not rounded, what was measured is.
  assert.match(textAt(Infinity), / 20260104 +success +0\.25 +0\.5 +0\.1235 /);
});

test('every column has a name of its own, also where a training reports what it was given', () => {
  const metrics = { lr: 0.05, hours: 2, acc: 0.4, best_acc: 0.6 };
  const odd = { ...row('0000', 0.1, undefined), metrics, best: { ...metrics, acc: 0.5 } };
  const [head, line] = [...resultsCsv([odd])];
  assert.equal(head, 'job,lr,outcome,last_lr,last_hours,acc,last_best_acc,best_acc,hours,tries\n');
  assert.equal(line, '0000,0.1,success,0.05,2,0.4,0.6,0.5,1,1\n');
  const other = { ...odd, job: '0001', metrics: { ...metrics, lr: 0.01 } };
  assert.deepEqual(names(sortResults([odd, other], { sort: 'last_lr' })), ['0001', '0000']);
});

test('what a training calls best_acc leaves the best acc of all jobs what it is', () => {
  const better = { ...row('0000', 0.1, undefined), metrics: { acc: 0.4 }, best: { acc: 0.9 } };
  const own = { acc: 0.5, best_acc: 0.99 };
  const sorted = sortResults([{ ...row('0001', 0.2, undefined), metrics: own, best: own }, better], {
    sort: '-best_acc',
  });
  assert.deepEqual(names(sorted), ['0000', '0001']);
  assert.deepEqual([...resultsCsv(sorted)].slice(1), [
    '0000,0.1,success,0.4,,0.9,1,1\n',
    '0001,0.2,success,0.5,0.99,0.5,1,1\n',
  ]);
});

test('parameters of earlier runs that are called like a column have one of their own', () => {
  const jobs = [6, 12].map((hours) => ({
    ...row(`00${hours}`, 0, 0.5),
    parameters: { hours, outcome: 'good', 'data.tries': hours },
  }));
  const [head, line] = [...resultsCsv(jobs)];
  const given = 'parameter_hours,parameter_outcome,data.tries';
  assert.equal(head, `job,${given},outcome,accuracy,hours,tries\n`);
  assert.equal(line, '006,6,good,6,success,0.5,1,1\n');
  assert.deepEqual(names(sortResults(jobs, { sort: '-parameter_hours' })), ['0012', '006']);
  const { columns: shown, after } = resultsSection(jobs);
  assert.deepEqual(
    shown.map(({ title }) => title),
    ['job', 'parameter_hours', 'data.tries', 'outcome', 'accuracy', 'hours', 'tries'],
  );
  assert.deepEqual(after, ['Same in all: parameter_outcome=good.']);
});

test('the columns of CSV do not depend on how many rows are shown', () => {
  const [head] = resultsCsv(rows);
  const [best] = sortResults(rows, { sort: '-accuracy', top: 1 });
  assert.deepEqual([...resultsCsv([best!], rows)][0], head);
  assert.match(head ?? '', /,best_accuracy,/);
});

test('an empty value is shown as such, a missing one is blank', () => {
  const given = [{ aug: '' }, { aug: 'flip' }, {}];
  const jobs = given.map((parameters, at) => ({ ...row(`000${at}`, 0, 0.5), parameters: { ...parameters } }));
  const { rows: cells, after } = resultsSection(jobs);
  assert.deepEqual(
    cells.map(([, aug]) => aug),
    ["''", 'flip', ''],
  );
  assert.deepEqual(after, []);
  const same = [0, 1].map((seed) => ({ ...row(`000${seed}`, 0, 0.5), parameters: { aug: '', seed } }));
  assert.deepEqual(resultsSection(same).after, ["Same in all: aug=''."]);
});

test('values that differ only in what is invisible look different', () => {
  const tags = ['a\nb', 'a b', 'x\u202ey', 'x\u202dy', '', ' '];
  const jobs = tags.map((tag, at) => ({ ...row(`000${at}`, 0, 0.5), parameters: { tag } }));
  const shown = resultsSection(jobs).rows.map(([, tag]) => tag);
  assert.deepEqual(shown, ['a\\nb', 'a b', 'x\\u202ey', 'x\\u202dy', "''", "' '"]);
  const lines = [...resultsCsv(jobs)].slice(1).map((line) => line.split(',')[1]);
  assert.deepEqual(lines, ['"a\nb"', 'a b', 'x\\u202ey', 'x\\u202dy', '', ' ']);
});

test('JSON has NaN and Infinity as texts', () => {
  const read = JSON.parse(JSON.stringify(resultsJson([row('0000', 1, NaN, Infinity)]))) as JobTableRow[];
  assert.deepEqual([read[0]?.metrics, read[0]?.best], [{ accuracy: 'NaN' }, { accuracy: 'Infinity' }]);
});
