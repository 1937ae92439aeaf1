import { test } from 'node:test';
import fc from 'fast-check';
import { parseTime } from './parse-time.ts';

test('any time is parsed as Date.parse does', () => {
  const date = fc.date({ noInvalidDate: true }).map((one) => one.toISOString());
  fc.assert(fc.property(date, (text) => parseTime(text) === Date.parse(text)));
});

test('so is any text, also one that is nearly a time', () => {
  const piece = fc.constantFrom(
    '2026',
    '00',
    '02',
    '31',
    '60',
    '24',
    '99',
    '-',
    ':',
    'T',
    '.',
    'Z',
    '+',
    ' ',
    '٣',
  );
  const nearly = fc
    .tuple(fc.date({ noInvalidDate: true }), fc.nat(23), piece)
    .map(
      ([date, at, text]) =>
        date.toISOString().slice(0, at) + text + date.toISOString().slice(at + text.length),
    );
  fc.assert(
    fc.property(fc.oneof(fc.string(), nearly), (text) => Object.is(parseTime(text), Date.parse(text))),
    { numRuns: 2000 },
  );
});
