/** Curves of all jobs, read from journals that grow, start over or come late. */
import assert from 'node:assert/strict';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { attemptFiles, attemptFolder } from '@updraft/account/run-folder';
import type { JobState, Progress } from '@updraft/account/journal';
import { CurveBook, ThinCurve } from './curve-book.ts';
import type { MetricCurves } from './page-data.ts';

const lines = (attempt: number, reports: Progress[]): string =>
  reports
    .map((report, seq) => {
      const t = new Date(seq * 1000).toISOString();
      return `${JSON.stringify({ v: 1, t, seq, job: '0000', attempt, kind: 'progress', ...report })}\n`;
    })
    .join('');

/** As the fold makes it: a new object after every change. */
const job = (attempts: number): JobState => {
  const state: Partial<JobState> = {
    id: '0000',
    attempts: Array.from(
      { length: attempts },
      (_, index) => ({ job: '0000', number: index + 1 }) as JobState['attempts'][number],
    ),
  };
  return state as JobState;
};

async function journal(folder: string, attempt: number): Promise<string> {
  const file = path.join(attemptFolder(folder, '0000', attempt), attemptFiles.journal);
  await mkdir(path.dirname(file), { recursive: true });
  return file;
}

const pairsOf = ({ x: [x = []], y }: MetricCurves['curves'][string] = { x: [], y: [] }): [number, number][] =>
  x.map((at, index) => [at, y[index] ?? NaN]);

test('curves grow with the journals, and an attempt that resumes replaces what was past its checkpoint', async (t) => {
  const folder = await temporaryFolder(t);
  const book = new CurveBook(folder);
  const curveOf = async (attempts: number) =>
    pairsOf((await book.read([job(attempts)], 'loss')).curves['0000']);
  const first = await journal(folder, 1);
  await writeFile(first, lines(1, [{ epoch: 1, loss: 3 }]));
  assert.deepEqual(await curveOf(1), [[1, 3]]);
  await appendFile(
    first,
    lines(1, [
      { epoch: 2, loss: 2 },
      { epoch: 3, loss: NaN },
    ]),
  );
  assert.deepEqual(await curveOf(1), [
    [1, 3],
    [2, 2],
  ]);
  await writeFile(await journal(folder, 2), lines(2, [{ epoch: 2, loss: 1 }]));
  assert.deepEqual(await curveOf(2), [
    [1, 3],
    [2, 1],
  ]);
});

test("an earlier attempt's journal that comes later is put in its place", async (t) => {
  const folder = await temporaryFolder(t);
  const book = new CurveBook(folder);
  await writeFile(await journal(folder, 2), lines(2, [{ epoch: 2, loss: 1 }]));
  await book.read([job(2)], 'loss');
  await writeFile(await journal(folder, 1), lines(1, [{ epoch: 1, loss: 3 }]));
  const { curves, units, isComplete } = await book.read([job(2)], 'loss');
  assert.deepEqual(curves, {
    '0000': {
      x: [
        [1, 2],
        [0, 0],
      ],
      y: [3, 1],
    },
  });
  assert.deepEqual([units, isComplete], [['epochs', 'time'], true]);
});

test('a reading that takes too long is continued by the next', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(await journal(folder, 1), lines(1, [{ step: 5, loss: 3 }]));
  const book = new CurveBook(folder);
  const jobs = [job(1)];
  const cut = await book.read(jobs, 'loss', { maxMs: -1 });
  assert.deepEqual([cut.isComplete, cut.curves], [false, {}]);
  const whole = await book.read(jobs, 'loss');
  assert.deepEqual([whole.isComplete, whole.units], [true, ['steps', 'time']]);
  assert.deepEqual(whole.curves, { '0000': { x: [[5], [0]], y: [3] } });
});

test('ten thousand points become a few, the first and the last among them', () => {
  const curve = new ThinCurve();
  for (let step = 1; step <= 10_000; step += 1)
    curve.add({ steps: step, epochs: 0, time: 0, value: 1 / step });
  const points = pairsOf(curve.drawn(['steps'], 60));
  assert.ok(points.length <= 62, `${points.length} points`);
  assert.deepEqual(
    [points[0], points.at(-1)],
    [
      [1, 1],
      [10_000, 0.0001],
    ],
  );
});

test('a peak and a dip survive in a thinned curve, in their places, unless a resumed attempt replaces them', () => {
  const curve = new ThinCurve();
  const valueOf = (step: number): number => (step === 3333 ? 9 : step === 7777 ? -9 : step % 3);
  for (let step = 1; step <= 10_000; step += 1)
    curve.add({ steps: step, epochs: 0, time: 0, value: valueOf(step) });
  const pairs = () => pairsOf(curve.drawn(['steps'], 60));
  const peaks = () => pairs().filter(([, value]) => Math.abs(value) === 9);
  assert.deepEqual(peaks(), [
    [3333, 9],
    [7777, -9],
  ]);
  const steps = pairs().map(([step]) => step);
  assert.deepEqual(
    steps,
    steps.toSorted((a, b) => a - b),
  );
  curve.cutFrom(7000);
  assert.deepEqual(peaks(), [[3333, 9]]);
  curve.cutFrom(3000);
  assert.deepEqual(peaks(), []);
});
