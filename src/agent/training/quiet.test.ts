import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hangFault, quietLimit, type QuietPeriod } from './quiet.ts';

const quiet = (changes: Partial<QuietPeriod>): QuietPeriod => ({
  seconds: 1800,
  processes: 3,
  cpuSeconds: 0.1,
  gpuPercent: undefined,
  ...changes,
});

test('a training that is silent and idle gets the time the user set, one that works three times as much', () => {
  assert.equal(quietLimit(quiet({}), 600), 600);
  assert.equal(quietLimit(quiet({ gpuPercent: 0 }), 600), 600);
  assert.equal(quietLimit(quiet({ cpuSeconds: 1700 }), 600), 1800);
  assert.equal(quietLimit(quiet({ gpuPercent: 97 }), 600), 1800);
});

test('where the user set no time, an hour of doing nothing is enough, and work is never ended', () => {
  assert.equal(quietLimit(quiet({}), undefined), 3600);
  assert.equal(quietLimit(quiet({ cpuSeconds: 1700 }), undefined), Infinity);
});

test('what waiting costs is no work: a few percent of a core, a GPU that shows a picture', () => {
  assert.equal(quietLimit(quiet({ cpuSeconds: 60, gpuPercent: 3 }), 600), 600);
});

test('the message says where, for how long, and what was seen', () => {
  const fault = hangFault('0007', 'node-a', quiet({ gpuPercent: 0 }));
  assert.equal(fault.kind, 'training-hung');
  assert.equal(
    fault.message,
    'the training of job 0007 on node-a printed nothing and told no progress for 30m; meanwhile its 3 processes used 0.1 s of CPU and at most 0 % of the GPU',
  );
  assert.match(fault.fix ?? '', /last lines in err\.log/);
  assert.match(
    hangFault('0007', 'node-a', quiet({ cpuSeconds: 1700 })).fix ?? '',
    /it works, but shows nothing of it/,
  );
});
