/** Successes that are no valid results, by a rule, by name, or by being far too quick. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobHistory } from '../history/history.ts';
import { judgeJobs, readValid, type Validity } from './validity.ts';

interface Given {
  id?: string;
  node?: string;
  seconds: number;
  bytes?: number;
}

function job({ id = '1.0', node, seconds, bytes }: Given): JobHistory {
  const spans = [{ doing: 'training' as const, from: 0, to: seconds * 1000 }];
  const rest = { waits: [], checkpointed: false, site: '', machine: '', gpu: '', resources: [] };
  const sent = bytes === undefined ? {} : { sentBytes: bytes };
  const attempts = [{ number: 1, spans, ending: 'success' as const, ...rest, ...sent }];
  const times = { from: 0, to: seconds * 1000, after: [] };
  return { id, attempts, outcome: 'success', ...times, ...(node === undefined ? {} : { node }) };
}

/** Twenty jobs of a cluster, of about an hour and a megabyte each, plus different ones. */
const among = (...odd: Omit<Given, 'id'>[]): JobHistory[] => [
  ...Array.from({ length: 20 }, (_, proc) =>
    job({ id: `1.${proc}`, seconds: 3600 + proc * 60, bytes: 1e6 + proc * 1000 }),
  ),
  ...odd.map((given, index) => job({ id: `1.${90 + index}`, ...given })),
];
const suspected = (jobs: JobHistory[], validity: Validity = {}) =>
  judgeJobs(jobs, validity).suspects.map(({ job: id }) => id);

test("a job that returned nothing, or took a fraction of the others' time, is suspicious", () => {
  const { suspects, jobs } = judgeJobs(among({ seconds: 3700, bytes: 0 }, { seconds: 30, bytes: 1e6 }), {});
  assert.deepEqual(
    suspects.map((one) => [one.job, one.why]),
    [
      ['1.90', 'returned 0 B, others 1 MB'],
      ['1.91', 'ran for 30s, others for 1h08m'],
    ],
  );
  assert.ok(jobs.every(({ outcome }) => outcome === 'success'));
});

test('normal differences are not suspicious', () => {
  assert.deepEqual(suspected(among({ seconds: 1200, bytes: 400_000 })), []);
  const spread = Array.from({ length: 20 }, (_, proc) => job({ id: `1.${proc}`, seconds: 2 ** proc }));
  assert.deepEqual(suspected(spread), [], 'every length occurs');
  assert.deepEqual(
    suspected(among(...Array.from({ length: 8 }, () => ({ seconds: 30 })))),
    [],
    'a kind of its own',
  );
  const short = Array.from({ length: 20 }, (_, proc) =>
    job({ id: `1.${proc}`, seconds: proc === 0 ? 1 : 20 }),
  );
  assert.deepEqual(suspected(short), [], 'short jobs differ by chance');
  const own = Array.from({ length: 20 }, (_, cluster) =>
    job({ id: `${cluster}.0`, seconds: cluster === 0 ? 1 : 3600 }),
  );
  assert.deepEqual(suspected(own), [], 'clusters of one job each may be anything');
});

test('a trial that was stopped early is short, and not suspicious', () => {
  const jobs = among({ seconds: 30, bytes: 0 });
  assert.deepEqual(suspected(jobs), ['1.90']);
  const report = { rung: 1, at: 1, unit: 'epochs', metric: 'acc', value: 0.1, seen: 3, better: 2 } as const;
  const training = { command: 'train', rungs: [{ ...report, goesOn: false }] };
  const attempts = jobs.at(-1)?.attempts.map((one) => ({ ...one, agent: { training, stoppedEarly: true } }));
  assert.deepEqual(suspected(jobs.with(-1, { ...jobs.at(-1), attempts } as unknown as JobHistory)), []);
});

test('DAG nodes are alike if their names differ only in numbers', () => {
  const nodes = Array.from({ length: 20 }, (_, at) =>
    job({ id: `${at}.0`, node: `train-${at}`, seconds: at === 7 ? 5 : 3600 }),
  );
  const gather = job({ id: '99.0', node: 'gather', seconds: 5 });
  assert.deepEqual(
    judgeJobs([...nodes, gather], {}).suspects.map(({ node }) => node),
    ['train-7'],
  );
});

test('--valid decides about every result, --invalid about the listed ones', () => {
  const jobs = among({ seconds: 3700, bytes: 0 });
  const ruled = judgeJobs(jobs, { valid: readValid('bytes > 1k && seconds>=60') });
  assert.deepEqual(
    [ruled.suspects, ruled.jobs.at(-1)?.outcome, ruled.jobs[0]?.outcome],
    [[], 'wrong-output', 'success'],
  );
  assert.equal(ruled.jobs.at(-1)?.attempts.at(-1)?.ending, 'wrong-output');
  const lenient = judgeJobs(jobs, { valid: readValid('seconds>0') });
  assert.deepEqual([lenient.suspects, lenient.jobs.at(-1)?.outcome], [[], 'success']);
  const listed = judgeJobs(jobs, { invalid: new Set(['1.90', '1.3']) });
  assert.deepEqual(
    [listed.suspects, listed.jobs.filter(({ outcome }) => outcome === 'wrong-output').map(({ id }) => id)],
    [[], ['1.3', '1.90']],
  );
  const node = job({ node: 'A', seconds: 1 });
  assert.equal(judgeJobs([node], { invalid: new Set(['A']) }).jobs[0]?.outcome, 'wrong-output');
});

test('a rule compares bytes and seconds with numbers; anything else is an error', () => {
  const holds = (rule: string, bytes: number | undefined, seconds = 1) => readValid(rule)({ bytes, seconds });
  assert.deepEqual(
    ['bytes>5', 'bytes>=5', 'bytes<5', 'bytes<=5', 'bytes==5'].map((rule) => holds(rule, 5)),
    [false, true, false, true, true],
  );
  for (const limit of ['1.5M', '1.5MB', '1.5 MB', '1500000B'])
    assert.deepEqual(
      [1_500_000, 1_499_999].map((bytes) => holds(`bytes>=${limit}`, bytes)),
      [true, false],
    );
  assert.equal(holds('bytes>0', undefined), false, 'what the log does not say is not valid');
  for (const rule of ['', 'bytes', 'size>3', 'bytes>x', 'bytes>1 || seconds>1'])
    assert.throws(() => readValid(rule), /is not a comparison/);
});
