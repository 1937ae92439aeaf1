import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Position } from './record.ts';
import { ResumeCheck } from './resume-check.ts';

/** The first verdict on what a training tells after it was given a checkpoint. */
function verdict(from: Position, began: Position, ...told: Position[]): boolean | undefined {
  const check = new ResumeCheck(from, began);
  return told.map((position) => check.hear(position)?.movedOn).find((movedOn) => movedOn !== undefined);
}

test('a training that tells a position past the checkpoint has moved on', () => {
  assert.equal(verdict({ step: 40 }, { step: 1 }, { step: 41 }), true);
  assert.equal(verdict({ epoch: 1, step: 1 }, { epoch: 1, step: 1 }, { epoch: 2, step: 0 }), true);
  assert.equal(verdict({ epoch: 3, step: 900 }, { epoch: 1, step: 0 }, { epoch: 4, step: 0 }), true);
});

test('one that repeats a little of what came after its checkpoint has moved on when it is past it', () => {
  const began = { epoch: 1, step: 0 };
  const from = { epoch: 2, step: 300 };
  assert.equal(verdict(from, began, { epoch: 2, step: 0 }), undefined);
  assert.equal(verdict(from, began, { epoch: 2, step: 0 }, { epoch: 2, step: 310 }), true);
  assert.equal(verdict({ step: 100 }, { step: 1 }, { step: 95 }, { step: 99 }, { step: 101 }), true);
});

test('one that counts from its beginning again has not, also when it is past the checkpoint some day', () => {
  assert.equal(verdict({ step: 40 }, { step: 1 }, { step: 3 }, { step: 4 }), false);
  assert.equal(verdict({ epoch: 5 }, { epoch: 1 }, { epoch: 1 }, { epoch: 2 }), false);
  assert.equal(verdict({ step: 40 }, { step: 1 }, { step: 1 }, { step: 41 }), false);
});

test('a single word, or a training that tells nothing comparable, is no verdict', () => {
  assert.equal(verdict({ step: 40 }, { step: 1 }, { step: 1 }), undefined);
  assert.equal(verdict({ step: 40 }, { step: 1 }, { epoch: 1 }, { epoch: 2 }), undefined);
  assert.equal(verdict({}, {}, { step: 1 }, { step: 2 }), undefined);
});
