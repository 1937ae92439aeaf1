import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '@updraft/account/fault';
import { parseOrder } from './order.ts';

const order = JSON.stringify({ version: 1, run: 'r', job: { id: '0000' } });

test('an order is accepted, even with fields that a later version may add', () => {
  assert.equal(parseOrder(order, 'order.json').job.id, '0000');
  assert.doesNotThrow(() => parseOrder(order.replace('{', '{"later":true,'), 'order.json'));
});

for (const [what, text] of Object.entries({
  'of another version': order.replace('1', '2'),
  'that was cut off': order.slice(0, -1),
  'that is empty': '',
  'that is no table': 'null',
}))
  test(`an order ${what} is refused, with what to do`, () => {
    assert.throws(
      () => parseOrder(text, 'order.json'),
      (error) =>
        error instanceof Fault &&
        error.kind === 'order-invalid' &&
        error.message.includes('order.json') &&
        error.fix !== undefined,
    );
  });
