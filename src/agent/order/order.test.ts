import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '@updraft/account/fault';
import type { WorkOrder } from '../../job/job.ts';
import { parseOrder } from './order.ts';

const order: WorkOrder = {
  version: 1,
  run: 'r',
  job: {
    id: '0000',
    parameters: { lr: 0.1 },
    train: { command: 'true', files: [], outputs: ['m'], env: {} },
  },
  attempt: 1,
  data: [{ name: 'd', url: 'file:///x', into: 'data', unpack: 'auto', method: 'auto', expect: {} }],
  environment: { python: ['torch'] },
  resources: { cpus: 1, gpus: 0, memoryBytes: 1, diskBytes: 'auto' },
  filesFrom: '/f',
  scratchParent: '/s',
  resultsTo: '/r',
  attemptFolder: '/a',
};

test('a valid order is accepted, even with fields that a later version may add', () => {
  assert.equal(parseOrder(order, 'order.json').job.id, '0000');
  assert.doesNotThrow(() => parseOrder({ ...order, later: true }, 'order.json'));
});

/** Copies the order and puts a value at a path of it. */
function broken(place: string, value: unknown): unknown {
  const copy = structuredClone(order) as unknown as Record<string, unknown>;
  const steps = place.split('.');
  const last = steps.pop() ?? '';
  let at = copy;
  for (const step of steps) at = at[step] as Record<string, unknown>;
  at[last] = value;
  return copy;
}

for (const [place, value, message] of [
  ['version', 2, '`version` must be one of 1, not 2'],
  ['run', undefined, '`run` must be a non-empty string, not nothing'],
  ['attempt', 0, '`attempt` must be a whole number from 1 up, not 0'],
  ['job.train.command', '', '`job.train.command` must be a non-empty string, not ""'],
  ['job.train.files', 'main.py', '`job.train.files` must be a list, not "main.py"'],
  ['job.train.outputs', ['/etc/passwd'], '`job.train.outputs[0]` must be a path inside the work folder'],
  ['job.train.checkpoint', 'a/../../b', '`job.train.checkpoint` must be a path inside the work folder'],
  ['job.train.env', { A: 1 }, '`job.train.env.A` must be a text, not 1'],
  ['data.0.into', '..', '`data[0].into` must be a path inside the work folder'],
  ['data.0.unpack', 'rar', '`data[0].unpack` must be one of auto'],
  ['data.0.sha256', 'abc', '`data[0].sha256` must be 64 hexadecimal digits'],
  ['environment', null, '`environment` must be a table, not null'],
  ['resultsTo', 'results', '`resultsTo` must be an absolute path, not "results"'],
] as const)
  test(`an order with an invalid ${place} (${typeof value}) is refused and the field is named`, () => {
    assert.throws(
      () => parseOrder(broken(place, value), 'order.json'),
      (error) => error instanceof Fault && error.kind === 'order-invalid' && error.message.includes(message),
    );
  });

test('anything but a table is refused', () => {
  for (const value of [null, [], 'x', 3])
    assert.throws(() => parseOrder(value, 'order.json'), /`the order` must be a table/);
});
