import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  budgetOf,
  judge,
  expectedTrials,
  mergeResults,
  noteName,
  parseNoteName,
  type Rungs,
} from './rungs.ts';

const rungs: Rungs = { metric: 'acc', isLowerBetter: false, unit: 'epochs', budgets: [1, 3, 9, 27], eta: 3 };

test('the best third goes on, and of the first two the better one', () => {
  assert.deepEqual(judge(0.1, [], rungs), { goesOn: true, seen: 1, better: 0 });
  assert.deepEqual(judge(0.9, [0.1], rungs), { goesOn: true, seen: 2, better: 0 });
  assert.deepEqual(judge(0.1, [0.9], rungs), { goesOn: false, seen: 2, better: 1 });
  assert.equal(judge(0.9, [0.1, 0.8], rungs).goesOn, true);
  assert.equal(judge(0.7, [0.1, 0.8, 0.9, 0.2, 0.3], rungs).goesOn, false);
  assert.equal(judge(0.8, [0.1, 0.7, 0.9, 0.2, 0.3], rungs).goesOn, true);
  assert.equal(judge(0.9, [0.1, 0.8], { ...rungs, isLowerBetter: true }).goesOn, false);
});

test('a loss that became NaN goes on only while nothing better is known', () => {
  assert.equal(judge(NaN, [], rungs).goesOn, true);
  assert.equal(judge(NaN, [0.1], rungs).goesOn, false);
  assert.equal(judge(0.1, [NaN, NaN], rungs).goesOn, true);
  assert.equal(judge(NaN, [NaN, NaN], rungs).goesOn, true);
});

const value = fc.oneof(fc.double(), fc.constantFrom(0.5, 0.25));
const values = fc.array(value, { maxLength: 40 });

test('equal trials are treated alike, and a better one never worse', () => {
  fc.assert(
    fc.property(values, fc.double({ noNaN: true }), fc.double({ noNaN: true }), (others, a, b) => {
      const [worse, better] = a < b ? [a, b] : [b, a];
      if (judge(worse, others, rungs).goesOn) assert.equal(judge(better, others, rungs).goesOn, true);
    }),
  );
});

test('what is not seen stops nobody who would be among the best of what is', () => {
  fc.assert(
    fc.property(values, (others) => {
      const best = Math.max(...others.filter((one) => !Number.isNaN(one)), 0);
      for (let seen = 0; seen <= others.length; seen++)
        assert.equal(judge(best, others.slice(0, seen), rungs).goesOn, true);
    }),
  );
});

const result = fc.record({
  trial: fc.integer({ min: 0, max: 12 }).map((id) => String(id).padStart(4, '0')),
  attempt: fc.integer({ min: 1, max: 3 }),
  value: fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, 1e-7, 1e21, -3e300)),
});

test('a result survives its note, and what anyone else wrote there is none', () => {
  fc.assert(
    fc.property(result, (one) => {
      const name = noteName(one);
      assert.match(name, /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
      assert.deepEqual(parseNoteName(name), [{ ...one, value: Object.is(one.value, -0) ? 0 : one.value }]);
    }),
  );
  for (const name of [
    '',
    '0001',
    '0001_1',
    '0001_1_',
    'x_1_0.5',
    '0001_1_0.5.5',
    '0001_1_0.5_1',
    '0001_1_..',
  ])
    assert.deepEqual(parseNoteName(name), []);
});

test('evictions, repeated and lost notes, and any order of them, count nobody twice and lose nobody', () => {
  fc.assert(
    fc.property(fc.array(result, { maxLength: 40 }), fc.infiniteStream(fc.nat()), (reported, order) => {
      // An attempt reports once; of one that does so again, one note is as good as the other.
      const notes = [...new Map(reported.map((one) => [`${one.trial} ${one.attempt}`, one])).values()];
      const firsts = mergeResults(notes);
      assert.deepEqual(new Set(firsts.keys()), new Set(notes.map(({ trial }) => trial)));
      for (const [trial, value] of firsts) {
        const [first] = notes.filter((one) => one.trial === trial).sort((a, b) => a.attempt - b.attempt);
        assert.ok(Object.is(first?.value, value));
      }
      const late = notes.map((one) => ({ one, at: Number(order.next().value) })).sort((a, b) => a.at - b.at);
      const again = mergeResults([...late.map(({ one }) => one), ...notes]);
      assert.deepEqual([...again].sort(), [...firsts].sort());
    }),
  );
});

test('how many go on is what many searches in any order come to', () => {
  const expected = expectedTrials(60, rungs);
  const sums = budgetOf(60, rungs);
  const counts = [0, 0, 0, 0];
  const searches = 300;
  let state = 1;
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let search = 0; search < searches; search++) {
    const seen: number[][] = [[], [], []];
    for (let trial = 0; trial < 60; trial++) {
      let at = 0;
      for (; at < 3; at++) {
        counts[at] = (counts[at] ?? 0) + 1;
        const own = random();
        const { goesOn } = judge(own, seen[at] ?? [], rungs);
        seen[at]?.push(own);
        if (!goesOn) break;
      }
      if (at === 3) counts[3] = (counts[3] ?? 0) + 1;
    }
  }
  for (const [at, count] of counts.entries()) {
    const share = count / searches / (expected[at] ?? 0);
    assert.ok(Math.abs(share - 1) < 0.1, `rung ${at + 1}: ${share}`);
  }
  assert.deepEqual([sums.most, Math.round(sums.expected)], [1620, 193]);
});
