import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureGroups } from './comparison.ts';
import { decidingMetric, knownMeasure, measureNamed, metricNames } from './measures.ts';
import type { ComparedSample } from './samples.ts';

const sample: ComparedSample = {
  job: '0000',
  isValid: true,
  seconds: 100,
  slotSeconds: 90,
  gpuSeconds: null,
  transferSeconds: 5,
  usefulShare: 0.5,
  speed: { samplesPerSecond: 512.4, epochSeconds: 61, gpuUse: 0.875 },
  setbacks: 2,
  metrics: {},
  best: {},
};

test('speed and setbacks are measures of a run, each with its unit', () => {
  const shown = ['samples', 'epoch', 'gpu-use', 'setbacks'].map((name) => {
    const { of, show } = measureNamed(name);
    return show(of(sample) ?? Number.NaN);
  });
  assert.deepEqual(shown, ['512', '1m01s', '87.5 %', '2']);
});

test('speed is one of valid results, and setbacks count failures too; what is unknown is left out', () => {
  const failed = { ...sample, isValid: false };
  assert.equal(measureNamed('samples').of(failed), null);
  assert.equal(measureNamed('setbacks').of(failed), 2);
  assert.equal(measureNamed('gpu-use').of({ ...sample, speed: {} }), null);
  assert.equal(measureNamed('setbacks').of({ ...sample, setbacks: null }), null);
});

test('values without a rank are counted where they are left out, and so are groups that are not tested', () => {
  const withLoss = (loss: number): ComparedSample => ({ ...sample, metrics: { loss } });
  const groups = Array.from({ length: 30 }, (_, index) => ({
    name: `g${index}`,
    samples: [1, 2, 3, index === 7 ? Infinity : 4].map(withLoss),
  }));
  groups.push({ name: 'diverged', samples: [NaN, NaN, NaN].map(withLoss) });
  const { said, groups: measured } = measureGroups(groups, measureNamed('loss'));
  assert.deepEqual(measured.at(-1)?.values, []);
  assert.match(said.join('\n'), /^Only the first 20 of 30 groups were tested\.$/m);
  assert.equal(said.at(-1), 'Left out, because NaN or infinite: g7 (1), diverged (3).');
  assert.doesNotMatch(measureGroups(groups, measureNamed('time')).said.join('\n'), /NaN/);
});

test('without a valid result that has it, a metric is not chosen to compare by', () => {
  const metrics = { loss: 0.5 };
  assert.deepEqual(metricNames([{ ...sample, metrics }]), ['loss']);
  assert.deepEqual(metricNames([{ ...sample, isValid: false, metrics }]), []);
  assert.deepEqual(metricNames([{ ...sample, metrics: { loss: NaN } }]), []);
});

test('best_loss is the best loss of all, also where a training reports a metric of that name', () => {
  const samples = [
    { ...sample, metrics: { loss: 0.5, best_loss: 7 }, best: { loss: 0.4, best_loss: 7 } },
    { ...sample, metrics: { best_loss: 8 }, best: { best_loss: 8 } },
    { ...sample, metrics: { loss: 0.3 }, best: { loss: 0.2 } },
  ];
  const valuesOf = (name: string, some = samples) => some.map(knownMeasure(name, some).of);
  assert.deepEqual(valuesOf('best_loss'), [0.4, null, 0.2]);
  assert.deepEqual(valuesOf('last_best_loss'), [7, 8, null]);
  assert.deepEqual(valuesOf('best_loss', samples.slice(1, 2)), [8], 'there is no other best');
});

test('groups are compared by the metric that most of them have, and those without it are named', () => {
  const group = (name: string, metrics: Record<string, number>) => ({
    ...{ name, samples: [{ ...sample, metrics }] },
  });
  const groups = [
    group('a', { loss: 1, val_accuracy: 0.5 }),
    group('b', { loss: 2 }),
    group('c', { mse: 3 }),
  ];
  assert.equal(decidingMetric(groups, {}), 'loss');
  assert.equal(decidingMetric(groups.slice(0, 1), {}), 'val_accuracy');
  const saidOf = (name: string) => measureGroups(groups, measureNamed(name)).said;
  assert.deepEqual(saidOf('loss'), ['No valid result of c has a value.']);
  assert.deepEqual(saidOf('gpu'), ['No valid result has a value.']);
  assert.deepEqual(saidOf('time'), []);
});
