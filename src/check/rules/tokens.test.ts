import assert from 'node:assert/strict';
import { test } from 'node:test';
import { someFacts } from '../../../test/check/facts.ts';
import type { TokenFact } from '../facts.ts';
import { applyRules } from '@updraft/base';
import { tokenRules } from './objects.ts';

const hour = 3_600_000;

const queued = '[resources]\ntime = "10h"\n[run]\npool = "condor"\n';

function found(token: Partial<TokenFact>, text = queued) {
  const facts = someFacts(text);
  return applyRules(tokenRules, { ...facts, tokens: [{ label: 'data.d', place: undefined, ...token }] });
}
const endsIn = (hours: number) => ({ expires: someFacts().now + hours * hour });

test('a token that expires before a day in the queue and an attempt is a warning with both durations', () => {
  const [only] = found(endsIn(20));
  assert.deepEqual([only?.rule, only?.level], ['token-short', 'warning']);
  assert.match(only?.message ?? '', /expires in 20h; .* take 1d10h/);
});

test('a longer-lived token, or one without expiry, is no finding', () => {
  assert.deepEqual(found(endsIn(35)), []);
  assert.deepEqual(found({}), []);
  assert.deepEqual(found(endsIn(29), '[run]\npool = "condor"\n'), []);
});

test('on the local pool there is no queue', () => {
  const here = '[resources]\ntime = "10h"\n';
  assert.deepEqual(found(endsIn(11), here), []);
  assert.match(found(endsIn(9), here)[0]?.message ?? '', /expires in 9h; an attempt may take 10h/);
});

test('a missing or expired token is an error with the message of the search', () => {
  const problem = { message: 'none was found', fix: 'get one' };
  assert.deepEqual(found({ problem }), [
    { rule: 'token-missing', level: 'error', message: 'data.d: none was found', fix: 'get one' },
  ]);
});
