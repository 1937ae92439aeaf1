import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whereIn } from '../../../test/check/facts.ts';
import type { SlotFacts } from '../facts.ts';
import { applyRules } from '@updraft/base';
import { analyseSlots, slotRules } from './slots.ts';

const words = ['memory = 64 GB', 'gpus = 1', 'gpu.cuda = 12.1'];

/** One string per machine: a letter for each condition it meets, and `!` if the job fits now. */
function slotsOf(...machines: string[]): SlotFacts {
  return {
    conditions: words.map((one, index) => ({
      words: one,
      place: { file: 'updraft.toml', line: 20 + index },
    })),
    slots: machines.map((met, index) => ({
      name: `m${index}`,
      meets: ['m', 'g', 'c'].map((letter) => met.includes(letter)),
      fitsNow: met.includes('!'),
    })),
    largest: { memoryBytes: 16e9, diskBytes: 50e9 },
  };
}
const found = (...machines: string[]) =>
  applyRules(slotRules, { slots: slotsOf(...machines), where: whereIn() });

test('each condition is listed with the machines that would match without it, the worst first', () => {
  const analysis = analyseSlots(slotsOf('mgc!', 'mgc', 'gc', 'gc', 'gc', 'mg', 'm', ''));
  assert.deepEqual([analysis.total, analysis.matching, analysis.free], [8, 2, 1]);
  assert.deepEqual(
    analysis.costs.map(({ words: one, without }) => `${one}: ${without}`),
    ['memory = 64 GB: 5', 'gpu.cuda = 12.1: 3'],
  );
});

test('requirements that HTCondor cannot parse are an error at their line', () => {
  const slots = { ...slotsOf(), conditions: [], isUnreadable: true };
  const where = whereIn('[run]\npool = "condor"\nrequirements = "(x"\n');
  const [only, ...others] = applyRules(slotRules, { slots, where });
  assert.deepEqual([only?.rule, only?.line, others.length], ['requirements-invalid', 7, 0]);
});

test('a job that no machine could run is an error that names the condition to change', () => {
  const [only, ...others] = found('gc', 'gc', 'mg');
  assert.deepEqual([only?.rule, only?.level, only?.line, others.length], ['no-slot', 'error', 20, 0]);
  assert.match(
    only?.message ?? '',
    /none of the 3 machines .*`memory = 64 GB` 1, `gpu\.cuda = 12\.1` 2; the maximum is 16 GB memory$/,
  );
  assert.equal(only?.fix, 'without `memory = 64 GB`, 2 would match');
});

test('if two conditions together exclude all machines, no single one is named', () => {
  assert.match(found('g', 'g', 'c')[0]?.fix ?? '', /no single condition/);
});

test('a job that most machines can run, and a pool that was not queried, are no finding', () => {
  assert.deepEqual(found('mgc', 'mgc', 'g'), []);
  assert.deepEqual(applyRules(slotRules, { slots: undefined, where: whereIn() }), []);
});
