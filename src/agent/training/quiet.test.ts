import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hangFault, quietLimit, type QuietPeriod } from './training-watch.ts';

const quiet = (changes: Partial<QuietPeriod>): QuietPeriod => ({
  seconds: 1800,
  processes: 3,
  cpuSeconds: 0.1,
  gpuPercent: undefined,
  ...changes,
});

test('a silent, idle training gets the limit of the user; a busy one three times as much', () => {
  assert.equal(quietLimit(quiet({}), 600), 600);
  assert.equal(quietLimit(quiet({ gpuPercent: 0 }), 600), 600);
  assert.equal(quietLimit(quiet({ cpuSeconds: 1700 }), 600), 1800);
  assert.equal(quietLimit(quiet({ gpuPercent: 97 }), 600), 1800);
});

test('without a limit, an idle hour is enough, and a busy training is never ended', () => {
  assert.equal(quietLimit(quiet({}), undefined), 3600);
  assert.equal(quietLimit(quiet({ cpuSeconds: 1700 }), undefined), Infinity);
});

test('a few percent of a core or of a GPU count as idle', () => {
  assert.equal(quietLimit(quiet({ cpuSeconds: 60, gpuPercent: 3 }), 600), 600);
});

test('the message says where, for how long, and what was seen', () => {
  const fault = hangFault('0007', 'node-a', quiet({ gpuPercent: 0 }));
  assert.equal(fault.kind, 'training-hung');
  assert.equal(
    fault.message,
    'the training of job 0007 on node-a printed nothing and reported no progress for 30m; meanwhile its 3 processes used 0.1 s of CPU and at most 0 % of the GPU',
  );
  assert.match(fault.fix ?? '', /last lines in err\.log/);
  assert.match(
    hangFault('0007', 'node-a', quiet({ cpuSeconds: 1700 })).fix ?? '',
    /report progress in the training, which is busy/,
  );
});
