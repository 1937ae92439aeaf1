import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTrouble, TroubleSyntaxError } from './trouble.ts';

test('a rule names the server, the action, the objects and the schedule', () => {
  const rule = parseTrouble(
    'cache-1: stall after 1MB on *.tar skip 1 first 2 every 3 for 5s lasting 2s once 10KiB sent from *#1.0#*',
  );
  assert.deepEqual(rule.action, { kind: 'stall', after: 1_000_000 });
  const { server, glob, job, skip, first, every, forMs, lastingMs, onceSent } = rule;
  assert.deepEqual(
    { server, glob, job, skip, first, every, forMs, lastingMs, onceSent },
    {
      server: 'cache-1',
      glob: '*.tar',
      job: '*#1.0#*',
      skip: 1,
      first: 2,
      every: 3,
      forMs: 5000,
      lastingMs: 2000,
      onceSent: 10_240,
    },
  );
});

test('every action is parsed', () => {
  const expected: [string, object][] = [
    ['stall', { kind: 'stall', after: 0 }],
    ['reset after 64KiB', { kind: 'reset', after: 65_536 }],
    ['truncate after 5', { kind: 'truncate', after: 5, end: 'auto' }],
    ['truncate with trailer', { kind: 'truncate', after: 0, end: 'trailer' }],
    ['truncate after 1.5kB without trailer', { kind: 'truncate', after: 1500, end: 'no-trailer' }],
    ['truncate with length', { kind: 'truncate', after: 0, end: 'length' }],
    ['slow 200kB/s', { kind: 'slow', rate: 200_000 }],
    ['limit 50MB/s', { kind: 'limit', rate: 50_000_000 }],
    ['corrupt at 1MiB length 4KiB', { kind: 'corrupt', at: 1_048_576, length: 4096 }],
    ['404', { kind: 'status', code: 404, retryAfterSeconds: undefined }],
    ['503 retry-after 2s', { kind: 'status', code: 503, retryAfterSeconds: 2 }],
    ['delay 500ms', { kind: 'delay', ms: 500 }],
    ['expire-token after 1MB', { kind: 'expire-token', after: 1_000_000 }],
    ['wrong-size by -10', { kind: 'wrong-size', by: -10 }],
    ['wrong-offset by 100', { kind: 'wrong-offset', by: 100 }],
    ['digest-slow 11s', { kind: 'digest-slow', ms: 11_000 }],
    ...['down', 'html', 'nonsense', 'ignore-range', 'changed', 'digest-missing', 'digest-mislabelled'].map(
      (kind): [string, object] => [kind, { kind }],
    ),
  ];
  for (const [text, action] of expected) assert.deepEqual(parseTrouble(`all: ${text}`).action, action, text);
});

test('a pattern may be quoted', () => {
  assert.equal(parseTrouble('origin: 404 on "two words *"').glob, 'two words *');
});

test('a syntax error names the word and what was expected', () => {
  const expected: [string, RegExp][] = [
    ['', /a server is missing/],
    ['stall after 1MB', /starts with .*not 'stall'/],
    ['cache-0: stall', /not 'cache-0:'/],
    ['cache-1:', /an action is missing/],
    ['cache-1: explode', /'explode' is not an action/],
    ['cache-1: stall after soon', /'soon' is not a size/],
    ['cache-1: stall after 1XB', /'1XB' is not a size/],
    ['cache-1: slow 0', /a rate must be above zero/],
    ['cache-1: 404 first none', /'none' is not a whole number/],
    ['cache-1: 404 every 0', /'0' is not a whole number/],
    ['cache-1: 404 sometimes', /'sometimes' is not one of/],
    ['cache-1: 404 for 5', /'5' is not a time/],
    ['cache-1: stall once 5MB', /expected 'sent' after 'once SIZE'/],
    ['cache-1: truncate with grace', /expected 'with trailer'/],
    ['cache-1: down on *.tar', /'down' takes only/],
    ['cache-1: 503 by magic', /'by' is not one of on, from/],
  ];
  for (const [text, problem] of expected)
    assert.throws(
      () => parseTrouble(text),
      (error) =>
        error instanceof TroubleSyntaxError && problem.test(error.message) && error.message.includes(text),
      text,
    );
});
