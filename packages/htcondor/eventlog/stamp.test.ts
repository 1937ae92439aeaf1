import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StampOptions } from './stamp.ts';
import { parseEventLog } from '../../../test/eventlogs/plain.ts';

const in2026 = { reference: Date.UTC(2026, 10, 15), offsetMinutes: 0 };

function times(stamps: string[], options: StampOptions = in2026): (string | undefined)[] {
  const log = stamps.map((stamp) => `011 (1.0.0) ${stamp} Job was unsuspended.\n...\n`).join('');
  return parseEventLog(Buffer.from(log), options).events.map(({ time }) =>
    time === undefined ? undefined : new Date(time).toISOString(),
  );
}

test('every form of time is read to the millisecond', () => {
  assert.deepEqual(
    times([
      '2026-11-15 00:11:39',
      '2026-11-15T00:11:39',
      '2026-11-15 00:11:39.447',
      '2026-11-15 00:11:39.447123',
      '2026-11-15 00:11:39Z',
      '2026-11-15 00:11:39.5Z',
      '2026-11-15 00:11:39+02:00',
      '2026-11-15 00:11:39.001-0530',
      '11/15 00:11:39',
    ]),
    [
      '2026-11-15T00:11:39.000Z',
      '2026-11-15T00:11:39.000Z',
      '2026-11-15T00:11:39.447Z',
      '2026-11-15T00:11:39.447Z',
      '2026-11-15T00:11:39.000Z',
      '2026-11-15T00:11:39.500Z',
      '2026-11-14T22:11:39.000Z',
      '2026-11-15T05:41:39.001Z',
      '2026-11-15T00:11:39.000Z',
    ],
  );
});

test('the zone is known as far as the log names it', () => {
  const log = ['2026-11-15 00:11:39', '2026-11-15 00:11:39Z', '2026-11-15 00:11:39+02:00']
    .map((stamp) => `011 (1.0.0) ${stamp} Job was unsuspended.\n...\n`)
    .join('');
  assert.deepEqual(
    parseEventLog(Buffer.from(log), in2026).events.map(({ zone }) => zone),
    ['unknown', 'utc', 'offset'],
  );
});

test('a time without a zone is local time, or in the given offset', () => {
  assert.deepEqual(times(['2026-07-01 12:00:00'], { ...in2026, offsetMinutes: 120 }), [
    '2026-07-01T10:00:00.000Z',
  ]);
  assert.deepEqual(times(['2026-07-01 12:00:00'], { reference: in2026.reference }), [
    new Date(2026, 6, 1, 12).toISOString(),
  ]);
});

test('dates without a year end before the reference, and cross the new year', () => {
  assert.deepEqual(times(['11/20 00:00:00']), ['2025-11-20T00:00:00.000Z']);
  assert.deepEqual(
    times(['12/30 10:00:00', '12/31 23:59:59', '01/01 00:00:01', '12/31 23:59:58', '01/02 00:00:00']),
    [
      '2025-12-30T10:00:00.000Z',
      '2025-12-31T23:59:59.000Z',
      '2026-01-01T00:00:01.000Z',
      '2025-12-31T23:59:58.000Z',
      '2026-01-02T00:00:00.000Z',
    ],
  );
});

test('a date that runs backwards is not placed in the future', () => {
  assert.deepEqual(times(['11/14 00:00:00', '02/01 00:00:00', '11/14 00:00:00']), [
    '2026-11-14T00:00:00.000Z',
    '2026-02-01T00:00:00.000Z',
    '2026-11-14T00:00:00.000Z',
  ]);
});

test('the 29th of February is in a leap year', () => {
  assert.deepEqual(times(['02/29 12:00:00', '03/01 12:00:00']), [
    '2024-02-29T12:00:00.000Z',
    '2024-03-01T12:00:00.000Z',
  ]);
  assert.deepEqual(times(['2025-02-29 12:00:00', '2024-02-29 12:00:00']), [
    undefined,
    '2024-02-29T12:00:00.000Z',
  ]);
});

test('a log with one complete date gets its year from it', () => {
  const log =
    '001 (1.0.0) 12/31 23:00:00 Job executing on host: <a>\n...\n005 (1.0.0) 01/01 01:00:00 Job terminated.\n\t(1) Normal termination (return value 0)\n\n\tJob terminated of its own accord at 2020-01-01T01:00:00Z with exit-code 0.\n...\n';
  assert.deepEqual(
    parseEventLog(Buffer.from(log), in2026).events.map(({ time }) => new Date(time ?? NaN).toISOString()),
    ['2019-12-31T23:00:00.000Z', '2020-01-01T01:00:00.000Z'],
  );
});

test('the order of the log distinguishes the two hours at the end of daylight saving time', (t) => {
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env['TZ'];
    else process.env['TZ'] = TZ;
  });
  process.env['TZ'] = 'America/Chicago';
  const night = [
    '2026-11-01 00:59:00',
    '2026-11-01 01:59:59',
    '2026-11-01 01:00:00',
    '2026-11-01 01:59:58',
    '2026-11-01 01:20:00',
    '2026-11-01 02:10:00',
  ];
  assert.deepEqual(times(night, { reference: in2026.reference }), [
    '2026-11-01T05:59:00.000Z',
    '2026-11-01T06:59:59.000Z',
    '2026-11-01T07:00:00.000Z',
    '2026-11-01T06:59:58.000Z',
    '2026-11-01T07:20:00.000Z',
    '2026-11-01T08:10:00.000Z',
  ]);
});
