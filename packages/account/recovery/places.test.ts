import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptHistory } from '../history/history.ts';
import type { JobState } from '../journal/state.ts';
import { placesOf, scorePlaces } from './places.ts';

/** An attempt that took these minutes; in the first it fetched data. */
const attempt = (
  site: string,
  gpu: string,
  minutes: number,
  more: Partial<AttemptHistory> = {},
): AttemptHistory =>
  ({
    ...{ site, machine: `slot1@${site}.edu`, gpu, ending: 'success', checkpointed: false },
    spans: [
      { doing: 'fetching', from: 0, to: 60_000 },
      { doing: 'training', from: 60_000, to: minutes * 60_000 },
    ],
    ...more,
  }) as AttemptHistory;
const withPace = (epochSeconds: number): Partial<AttemptHistory> =>
  ({ agent: { training: { pace: { epochSeconds } } } }) as Partial<AttemptHistory>;
const shown = (attempts: AttemptHistory[]): string[] =>
  scorePlaces(attempts).map(({ site, gpu, worth }) =>
    [site, gpu, worth.toFixed(2)].filter((text) => text !== '').join(' '),
  );

test('where epochs take half the time, slots are worth more, by site and by GPU', () => {
  const all = [1, 2, 3, 4, 5, 6].flatMap(() => [
    attempt('fast', 'H100', 61, withPace(30)),
    attempt('slow', 'A40', 61, withPace(60)),
  ]);
  assert.deepEqual(shown(all), ['H100 1.20', 'fast H100 1.20', 'A40 0.80', 'slow A40 0.80']);
});

test('a place where work is lost is worth less than one that saves it, whatever it is called', () => {
  const evicted = { ending: 'evicted' } as const;
  const all = [
    ...[1, 2, 3, 4, 5, 6].map(() => attempt('', '', 61, { ...evicted, machine: 'slot1@a.edu' })),
    ...[1, 2, 3, 4, 5, 6].map(() =>
      attempt('', '', 61, { ...evicted, machine: 'slot2@b.edu', checkpointed: true }),
    ),
  ];
  assert.deepEqual(shown(all), ['b.edu 1.60', 'a.edu 0.40']);
});

test('of one attempt little is concluded; removals and wrong output mean nothing; nothing kept, nothing known', () => {
  const many = Array.from({ length: 20 }, () => attempt('a', '', 61));
  const [, worst = ''] = shown([...many, attempt('b', '', 61, { ending: 'failed' })]);
  assert.match(worst, /^b 0\.8/);
  const removed = (['removed', 'wrong-output', 'running'] as const).map((ending) =>
    attempt('c', '', 61, { ending }),
  );
  assert.deepEqual(shown([...many, ...removed]), ['a 1.00']);
  assert.deepEqual(scorePlaces([attempt('a', '', 61, { ending: 'failed' })]), []);
  assert.deepEqual(scorePlaces([]), []);
});

test('while a job is under way its run has no places: what ended first would stand for all', () => {
  const job = (
    status: JobState['status'],
    attempts: AttemptHistory[],
  ): Pick<JobState, 'attempts' | 'status'> => ({
    status,
    attempts: attempts as unknown as JobState['attempts'],
  });
  const done = job('ended', [attempt('a', '', 61)]);
  assert.equal(placesOf([done, job('waiting', [])]).length, 1);
  assert.deepEqual(placesOf([done, job('waiting', [attempt('b', '', 5, { ending: 'evicted' })])]), []);
});

test('a place is preferred only after five attempts whose work was kept', () => {
  const usual = Array.from({ length: 20 }, () => attempt('usual', '', 61, withPace(60)));
  const lucky = (count: number): string[] =>
    shown([...usual, ...Array.from({ length: count }, () => attempt('lucky', '', 61, withPace(10)))]);
  assert.ok(lucky(4).includes('lucky 1.00'), lucky(4).join());
  assert.match(lucky(5)[0] ?? '', /^lucky 2/);
});
