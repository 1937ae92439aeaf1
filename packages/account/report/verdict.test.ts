/** The verdict: which site, machine, cache or cause most of the loss is due to, and when there is none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cause } from '../codes/causes.ts';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import { noFacts } from '../history/log-facts.ts';
import { ledgerOf } from './ledger.ts';
import { logReport, type LogReport } from './log-report.ts';
import { sections } from './sections.ts';

const hour = 3_600_000;

interface Tried {
  site?: string;
  machine?: string;
  /** Undefined for a success. */
  cause?: Cause;
  hours?: number;
  doing?: 'training' | 'fetching';
  memory?: { usage: number; request: number };
}

/** A job with consecutive attempts. */
function job(id: string, ...tries: Tried[]): JobHistory {
  let now = 0;
  const attempts = tries.map((tried, index): AttemptHistory => {
    const { site = '', machine = 'm', cause, hours = 1, doing = 'training', memory } = tried;
    const from = now;
    now += hours * hour;
    return {
      number: index + 1,
      waits: [],
      spans: [{ doing, from, to: now }],
      ending: cause === undefined ? 'success' : cause === 'user' ? 'removed' : 'evicted',
      ...(cause === undefined ? {} : { cause }),
      checkpointed: false,
      site,
      machine,
      gpu: '',
      resources: memory === undefined ? [] : [{ name: 'Memory', unit: 'MB', ...memory }],
    };
  });
  const last = tries.at(-1)?.cause;
  const outcome = last === undefined ? 'success' : last === 'user' ? 'removed' : 'failed';
  return {
    id,
    from: 0,
    to: now,
    attempts,
    after: [],
    outcome,
    ...(last === undefined ? {} : { cause: last }),
  };
}

const many = (count: number, make: (id: string, index: number) => JobHistory): JobHistory[] =>
  Array.from({ length: count }, (_, index) => make(`${index + 1}.0`, index));
const reportOn = (jobs: JobHistory[], source: 'log' | 'run' = 'log'): LogReport =>
  logReport(jobs, ledgerOf(jobs, noFacts), { source, logs: [], notes: [] });

test('a site where every attempt fails is the verdict, with the line that avoids it', () => {
  const jobs = many(12, (id, index) =>
    index < 8
      ? job(
          id,
          { site: 'RAILS', machine: `g${index}@rails${index}`, cause: 'evicted', hours: 9 },
          { site: 'PDX' },
        )
      : job(id, { site: 'PDX', machine: `p${index}` }),
  );
  const { verdict, sites } = reportOn([...jobs, job('99.0', { site: 'PDX', cause: 'exit-code', hours: 5 })]);
  assert.deepEqual([verdict?.kind, verdict?.name], ['site', 'RAILS']);
  assert.match(
    verdict?.text ?? '',
    /^94 % of the loss is at RAILS: 8 attempts, none successful, mostly because the pool took the slot back; 8 of its 8 jobs succeeded elsewhere\./,
  );
  assert.equal(
    verdict?.line,
    'requirements = ($(requirements:True)) && (GLIDEIN_ResourceName =!= "RAILS") && (GLIDEIN_Site =!= "RAILS")',
  );
  assert.deepEqual(
    sites.map(({ name, jobs: own, attempts, success, lostSeconds, cause }) => [
      ...[name, own, attempts, success, lostSeconds / 3600, cause],
    ]),
    [
      ['RAILS', 8, 8, 0, 72, 'evicted'],
      ['PDX', 13, 13, 12, 5, 'exit-code'],
    ],
  );
});

test("a cause that occurs everywhere is not a site's fault", () => {
  const jobs = many(12, (id, index) => {
    const site = index % 3 === 0 ? 'A' : 'B';
    return job(id, { site, cause: 'transfer-stalled', doing: 'fetching' }, { site });
  });
  const { verdict } = reportOn(jobs);
  assert.deepEqual([verdict?.kind, verdict?.name, verdict?.line], ['cause', 'transfer-stalled', null]);
  const code = many(12, (id, index) =>
    index < 7 ? job(id, { machine: 'a', cause: 'exit-code' }) : job(id, { machine: 'b' }),
  );
  assert.equal(reportOn(code).verdict?.name, 'exit-code', 'no job that failed at a did well at b');
});

test('the verdict on a lack of memory has the request to write', () => {
  const killed: Tried = { cause: 'memory-exceeded', memory: { usage: 5000, request: 4096 } };
  const { verdict } = reportOn(many(6, (id) => job(id, killed, { memory: { usage: 5900, request: 4096 } })));
  assert.deepEqual([verdict?.name, verdict?.line], ['memory-exceeded', 'request_memory = 8GB']);
});

test('a machine where attempts fail in a row is reported as broken, and is the verdict', () => {
  const jobs = many(9, (id) =>
    job(
      id,
      { site: 'A', machine: 'glidein_1_2@e4005', cause: 'machine-broken' },
      { site: 'A', machine: 'e1' },
    ),
  );
  const report = reportOn(jobs);
  assert.deepEqual(report.brokenMachines, [
    { name: 'e4005', attempts: 9, inARow: 9, cause: 'machine-broken', lostSeconds: 9 * 3600 },
  ]);
  assert.deepEqual([report.verdict?.kind, report.verdict?.name], ['machine', 'e4005']);
  assert.match(report.verdict?.text ?? '', /The machine seems broken: 9 attempts failed in a row\./);
  assert.equal(report.verdict?.line, 'requirements = ($(requirements:True)) && (Machine =!= "e4005")');
  assert.ok(sections(report).some(({ id }) => id === 'broken'));
});

test('failures of the job or the pool do not make a machine broken', () => {
  const own = many(9, (id) => job(id, { machine: 'e1', cause: 'exit-code' }));
  assert.deepEqual(reportOn(own).brokenMachines, []);
  const evicted = many(9, (id) => job(id, { machine: 'e1', cause: 'evicted' }, { machine: 'e2' }));
  assert.deepEqual(reportOn(evicted).brokenMachines, []);
  const healed = many(9, (id) => job(id, { machine: 'e1', cause: 'exit-code' }, { machine: 'e2' }));
  assert.equal(reportOn(healed).brokenMachines[0]?.name, 'e1', 'the same jobs did well elsewhere');
});

test('no machine or site is to blame for measured memory, although the same jobs succeeded elsewhere', () => {
  const killed: Tried = {
    site: 'A',
    machine: 'gpu02',
    cause: 'memory-exceeded',
    memory: { usage: 86, request: 80 },
  };
  const { brokenMachines, verdict } = reportOn(
    many(9, (id) => job(id, killed, { site: 'B', machine: 'e2', memory: { usage: 97, request: 120 } })),
  );
  assert.deepEqual(brokenMachines, []);
  assert.deepEqual([verdict?.name, verdict?.line], ['memory-exceeded', 'request_memory = 1GB']);
});

test('the verdict on stalled transfers of a run is the cache that was given up most', () => {
  const jobs = many(4, (id, index) => {
    const one = job(id, { cause: 'transfer-stalled', doing: 'fetching' }, {});
    const share = { bytes: 1e6, seconds: 1 };
    const [first, ...rest] = one.attempts;
    if (first === undefined) return one;
    const caches = [
      { name: 'cache-1', ...share, setbacks: 1 },
      { name: 'cache-2', ...share, setbacks: index === 0 ? 1 : 0 },
    ];
    return { ...one, attempts: [{ ...first, caches }, ...rest] };
  });
  const { verdict } = reportOn(jobs);
  assert.deepEqual([verdict?.kind, verdict?.name], ['cache', 'cache-1']);
  assert.match(verdict?.text ?? '', /cache-1 was given up in 4 of 5 cases/);
});

test('there is no verdict when nothing explains most of the loss, or little was lost', () => {
  const causes: Cause[] = ['exit-code', 'evicted', 'time-limit', 'user'];
  assert.equal(
    reportOn(many(12, (id, index) => job(id, { cause: causes[index % 4] ?? 'user' }))).verdict,
    null,
  );
  assert.equal(reportOn(many(12, (id) => job(id, {}))).verdict, null);
  const few = many(60, (id, index) => job(id, index < 3 ? { cause: 'evicted', hours: 0.1 } : {}));
  assert.equal(reportOn(few).verdict, null);
});

test('saved work of a removed job was lost to its removal, not to the eviction before', () => {
  const saved = many(4, (id) => {
    const one = job(id, { cause: 'evicted', hours: 9 }, { cause: 'user', hours: 1 });
    const [first, ...rest] = one.attempts;
    const attempts = first === undefined ? [] : [{ ...first, checkpointed: true }, ...rest];
    return { ...one, attempts };
  });
  assert.equal(reportOn(saved).verdict?.name, 'user');
});

test('names in the line of a verdict are quoted', () => {
  const jobs = many(8, (id) => job(id, { site: 'a"b', cause: 'evicted' }, { site: 'C' }));
  assert.match(reportOn(jobs).verdict?.line ?? '', /=!= "a\\"b"\)$/);
});

test('a machine known only by its address cannot be avoided by name', () => {
  const jobs = many(8, (id) =>
    job(id, { machine: '10.0.0.7', cause: 'machine-broken' }, { machine: '10.0.0.8' }),
  );
  const { verdict } = reportOn(jobs);
  assert.deepEqual([verdict?.name, verdict?.line], ['10.0.0.7', null]);
  assert.match(verdict?.text ?? '', /8 attempts failed in a row\.$/);
});

test('the lines for a run are for its job file', () => {
  const jobs = many(8, (id) => job(id, { site: 'A', cause: 'evicted' }, { site: 'B' }));
  const { text, line } = reportOn(jobs, 'run').verdict ?? {};
  assert.match(text ?? '', /put this in `\[run\]` of the job file:$/);
  assert.equal(line, `requirements = '(GLIDEIN_ResourceName =!= "A") && (GLIDEIN_Site =!= "A")'`);
  const killed: Tried = { cause: 'memory-exceeded', memory: { usage: 5000, request: 4096 } };
  const short = reportOn(
    many(6, (id) => job(id, killed, {})),
    'run',
  );
  assert.equal(short.verdict?.line, 'memory = "7 GB"');
  // Updraft requests more by itself, and there is no submit file.
  const unmeasured = (source: 'log' | 'run') =>
    reportOn(
      many(6, (id) => job(id, { cause: 'memory-exceeded' }, {})),
      source,
    ).verdict?.text ?? '';
  assert.match(unmeasured('log'), /retry_request_memory/);
  assert.doesNotMatch(unmeasured('run'), /retry_request_memory/);
});

test('a machine that took every attempt and finished none is the verdict, unless the jobs fail by themselves', () => {
  const looping = (cause: Cause) =>
    reportOn(
      many(2, (id) => job(id, ...Array.from({ length: 4 }, () => ({ machine: 'black-hole', cause })))),
    );
  const { verdict } = looping('machine-broken');
  assert.deepEqual([verdict?.kind, verdict?.name, verdict?.share], ['machine', 'black-hole', 1]);
  assert.match(verdict?.text ?? '', /8 attempts, none successful.*it took every attempt/);
  assert.equal(looping('exit-code').verdict?.kind, 'cause');
});
