/** The state of a run's job after events of HTCondor's log: attempts, holds, releases, rounds, places. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createParser } from '@updraft/htcondor/testing';
import { jobId } from '@updraft/account/run-folder';
import {
  type AgentBody,
  type AgentEntry,
  encode,
  type Entry,
  fold,
  isAgentEntry,
  type JobState,
  type Observation,
} from '@updraft/account/journal';
import { EventEntries } from './event-log-source.ts';
import type { JobRetries } from './run-clusters.ts';

/** The only job after these events, each `number text`, a second apart. */
function story(...events: string[]): JobState {
  return fold(entriesOf(events)).jobs[0]!;
}

function entriesOf(
  events: readonly string[],
  retries: JobRetries = { round: 1, releases: 0 },
): Observation[] {
  const entries = new EventEntries(
    { willRelease: ({ code }, { failures }) => code === 13 && failures < 2, leaseSeconds: () => 1200 },
    { jobOf: (_, proc) => ({ job: jobId(proc), round: 1 }), sizeOf: () => 1, retriesOf: () => retries },
  );
  const parser = createParser({ reference: 0, onEvent: (event) => entries.add(event) });
  const text = events.map((event, index) => {
    const stamp = `2026-11-15 03:00:${String(index).padStart(2, '0')}`;
    return `${event.slice(0, 3)} (007.000.000) ${stamp} ${event.slice(4)}\n...\n`;
  });
  parser.feed(Buffer.from(text.join('')));
  parser.end();
  return entries.take();
}

const submitted = '000 Job submitted from host: <1.2.3.4>';
const moving = '040 Started transferring input files';
const moved = '040 Finished transferring input files';
const executing =
  '001 Job executing on host: <1.2.3.4>\n\tSlotName: slot1@x@worker.example\n\tGLIDEIN_ResourceName = "Site-A"';
const terminated = (code: number): string =>
  `005 Job terminated.\n\t(1) Normal termination (return value ${code})`;
const held = (code: number): string => `012 Job was held.\n\tno such luck\n\tCode ${code} Subcode 256`;

test('a job that succeeds at once has one attempt, its site, and the time of its input transfer', () => {
  const job = story(submitted, moving, moved, executing, terminated(0));
  assert.deepEqual([job.outcome, job.results, job.attempts.length], ['success', 'results/0000', 1]);
  const [attempt] = job.attempts;
  assert.deepEqual([attempt?.site, attempt?.machine], ['Site-A', 'x@worker.example']);
  const [fetching] = attempt?.spans ?? [];
  assert.deepEqual(fetching, { doing: 'fetching', from: 0, to: 1000 });
});

test('two executions with nothing between them are two attempts, the first one lost', () => {
  const job = story(submitted, executing, executing, terminated(0));
  assert.deepEqual(
    job.attempts.map(({ ending }) => ending),
    ['lost', 'success'],
  );
});

test('input sent again with nothing between is another attempt: a killed shadow writes no event', () => {
  const job = story(submitted, moving, moved, moving, moved, executing, terminated(0));
  assert.deepEqual(
    job.attempts.map(({ ending }) => ending),
    ['lost', 'success'],
  );
});

test('a hold that a rule will release leaves the job waiting; any other ends it', () => {
  const once = story(submitted, moving, moved, held(13));
  assert.deepEqual([once.status, once.held?.message], ['waiting', 'no such luck']);
  const released = story(submitted, moving, moved, held(13), '013 Job was released.\n\tby rule', moving);
  assert.deepEqual([released.status, released.held], ['running', undefined]);
  const unsaid = story(submitted, moving, held(13), '013 Job was released.', moving);
  assert.deepEqual([released.attempts[1]?.why, unsaid.attempts[1]?.why], ['released: by rule', 'released']);
  const twice = story(submitted, moving, held(13), '013 Job was released.\n\tby rule', moving, held(13));
  assert.deepEqual([twice.status, twice.outcome], ['ended', 'held']);
  assert.equal(story(submitted, held(32)).status, 'ended');
  assert.equal(story(submitted, held(1)).status, 'waiting');
});

test('a job that is released by hand after its end continues', () => {
  const job = story(submitted, moving, held(32), '013 Job was released.\n\tvia condor_release', moving);
  assert.deepEqual([job.status, job.outcome], ['running', 'running']);
});

test('a retry that the journal has counts at once; HTCondor writes it into the log a moment later', () => {
  const stateOf = (retries: JobRetries, ...events: string[]) => {
    const { status, held, outcome } = fold(entriesOf([submitted, moving, ...events], retries)).jobs[0]!;
    return [status, outcome, held?.message];
  };
  const failed = ['ended', 'held', 'no such luck'];
  const release = '013 Job was released.\n\tvia condor_release (by user x): updraft retry';
  assert.deepEqual(stateOf({ round: 1, releases: 0 }, held(32)), failed);
  assert.deepEqual(stateOf({ round: 1, releases: 1 }, held(32)), ['waiting', 'waiting', undefined]);
  assert.deepEqual(stateOf({ round: 1, releases: 1 }, held(32), release, moving, held(32)), failed);
  assert.equal(stateOf({ round: 1, releases: 1 }, held(32), release, moving)[0], 'running');
  assert.equal(stateOf({ round: 2, releases: 0 }, executing, terminated(3))[0], 'waiting');
  assert.equal(stateOf({ round: 1, releases: 0 }, executing, terminated(3))[0], 'ended');
});

test('an eviction leaves the job waiting; a removal stops it, with its reason', () => {
  const evicted = story(
    submitted,
    executing,
    '004 Job was evicted. Code 1022 Subcode 0\n\t(0) CPU times\n\tReason: drained',
  );
  assert.deepEqual([evicted.status, evicted.attempts[0]?.ending], ['waiting', 'evicted']);
  const removed = story(submitted, executing, '009 Job was aborted.\n\tvia condor_rm (by user x)');
  assert.deepEqual(
    [removed.outcome, removed.attempts[0]?.fault?.message],
    ['removed', 'via condor_rm (by user x)'],
  );
});

test('entries that a running agent writes to the log are its state until its journal arrives', () => {
  const said = {
    v: 1,
    t: '2026-11-15T03:00:03.000Z',
    seq: 0,
    job: '0000',
    attempt: 1,
    kind: 'phase',
    phase: 'training',
  };
  const job = story(submitted, executing, `008 updraft ${JSON.stringify(said)}`);
  assert.equal(job.attempts[0]?.phase, 'training');
});

test('a job removed during the return of its results has succeeded; one removed earlier has not', () => {
  const removed = '009 Job was aborted.\n\tupdraft stop (by user ada)';
  const late = story(submitted, executing, terminated(0), removed);
  assert.deepEqual([late.outcome, late.results], ['success', 'results/0000']);
  assert.equal(story(submitted, executing, removed).outcome, 'removed');
  assert.equal(story(submitted, executing, terminated(3), removed).outcome, 'removed');
});

test("a hold by hand is not a failure: the rules count only the pool's holds", () => {
  const byHand = [held(1), '013 Job was released.\n\tvia condor_release', moving];
  const job = story(submitted, moving, ...byHand, ...byHand, held(13));
  assert.deepEqual([job.status, job.held?.message], ['waiting', 'no such luck']);
});

test('failures before a retry no longer count: the rules start fresh', () => {
  const byRule = '013 Job was released.\n\tThe job attribute PeriodicRelease expression evaluated to TRUE';
  const byRetry = '013 Job was released.\n\tupdraft retry (by user alice)';
  const statusAfter = (release: string) =>
    story(submitted, moving, held(13), release, moving, held(13)).status;
  assert.equal(statusAfter(byRule), 'ended');
  assert.equal(statusAfter(byRetry), 'waiting');
});

test('an eviction caused by a removal is ignored: the removal says who asked for it', () => {
  const eviction = '004 Job was evicted. Code 1023 Subcode 0\n\t(0) CPU times\n\tReason: Job was removed';
  assert.equal(story(submitted, executing, eviction).status, 'running');
  const gone = story(submitted, executing, eviction, '009 Job was aborted.\n\tvia condor_rm (by user x)');
  assert.deepEqual(
    gone.attempts.map(({ ending, fault }) => [ending, fault?.cause]),
    [['removed', 'user']],
  );
});

test("the site is the one the report names, even where only the job's copy of it is in the log", () => {
  const execute =
    '001 Job executing on host: <1.2.3.4>\n\tGLIDEIN_Site = "B"\n\tJOBGLIDEIN_ResourceName = "A"';
  assert.equal(story(submitted, execute).attempts[0]?.site, 'A');
});

test('a job removed while waiting has a reason although no attempt has, and is no longer held', () => {
  const rule = '009 Job was aborted.\n\tThe job attribute PeriodicRemove expression was true';
  const idle = story(submitted, rule);
  assert.deepEqual([idle.outcome, idle.fault?.cause], ['removed', 'job-policy']);
  const wasHeld = story(submitted, held(1), rule);
  assert.deepEqual([wasHeld.outcome, wasHeld.held], ['removed', undefined]);
});

const lost =
  '022 Job disconnected, attempting to reconnect\n    Socket between submit and execute hosts closed unexpectedly\n    Trying to reconnect to slot1@siteA@node <10.0.0.2:9618>';
const found = '023 Job reconnected to slot1@siteA@node\n    startd address: <10.0.0.2:9618>';

test("a lost connection is a state of the attempt, with the pool's deadline, until it reconnects or fails", () => {
  const cut = story(submitted, executing, lost);
  assert.deepEqual(
    [cut.status, cut.attempts[0]?.pool?.disconnected],
    ['running', { since: '2026-11-15T03:00:02.000Z', until: '2026-11-15T03:20:02.000Z' }],
  );
  assert.equal(cut.cause, 'disconnected');
  assert.equal(story(submitted, executing, lost, found).attempts[0]?.pool?.disconnected, undefined);
  const failed =
    '024 Job reconnection failed\n    Job disconnected too long: JobLeaseDuration (1200 seconds) expired';
  const over = story(submitted, executing, lost, failed);
  assert.deepEqual(
    [over.status, over.attempts[0]?.ending, over.attempts[0]?.pool?.disconnected],
    ['waiting', 'evicted', undefined],
  );
});

/** An entry of the agent, some seconds after the log's first event. */
const said = (attempt: number, second: number, body: AgentBody): AgentEntry => ({
  ...{ v: 1, t: new Date(Date.UTC(2026, 10, 15, 3, 0, second)).toISOString(), seq: second },
  ...{ job: '0000', attempt, ...body },
});
const started: AgentBody = { kind: 'agent-started', version: '1', host: 'worker', pid: 7, gpus: [] };
const live = (entry: Entry): string => `008 updraft ${encode(entry)}`;

test('starts that the log does not show are counted by the agent: its journal belongs to the attempt under way', () => {
  const events = [submitted, moving, moved, executing, live(said(2, 4, started)), '004 Job was evicted.'];
  const later = [moving, moved, executing, live(said(5, 9, started)), terminated(0)];
  const account = entriesOf([...events, ...later]);
  const journals = [2, 5].map((attempt) => {
    const from = attempt === 2 ? 3 : 8;
    return [
      said(attempt, from, started),
      said(attempt, from, { kind: 'phase', phase: 'training' }),
      ...(attempt === 2
        ? []
        : [said(attempt, from + 2, { kind: 'agent-ended', outcome: 'success', exit: 0 })]),
    ];
  });
  const entries = account.flatMap((entry) => (isAgentEntry(entry) ? [] : [entry]));
  const state = fold([...entries, ...journals.flat()]);
  const followed = fold(account);
  for (const { jobs } of [state, followed]) {
    const attempts = jobs[0]?.attempts.map(({ number: attempt, ending, agent }) => [
      attempt,
      ending,
      agent?.host,
    ]);
    assert.deepEqual(attempts, [
      [2, 'evicted', 'worker'],
      [5, 'success', 'worker'],
    ]);
    assert.match(jobs[0]?.attempts[1]?.why ?? '', /^attempt 2 ended as evicted/);
  }
  const [, second] = state.jobs[0]?.attempts ?? [];
  assert.deepEqual([second?.spans.map(({ doing }) => doing)], [['fetching', 'training', 'cleaning']]);
});

test("the journal, which status, watch and the dashboard show, has no secret of HTCondor's words", () => {
  const said = '\n\tsee https://bob:planted1@h/x?access_token=planted2 (token: PLANTEDx)';
  const entries = entriesOf([
    ...[submitted, executing, `021 Error from slot1@e1:${said}`, `007 Shadow exception!${said}`],
    ...[`012 Job was held.${said}\n\tCode 34 Subcode 0`, `013 Job was released.${said}`],
    `009 Job was aborted.${said}`,
  ]);
  const text = JSON.stringify(entries);
  assert.doesNotMatch(text, /planted/i);
  assert.ok(text.split('see https://h/x').length > 3, text);
});

test('after a checkpoint exit in place, which no start follows in the log, the job trains and does not clean up', () => {
  const returning = ['040 Started transferring output files', '040 Finished transferring output files'];
  const training = live(said(1, 5, { kind: 'phase', phase: 'training' }));
  const events = [submitted, moving, moved, executing, live(said(1, 4, started)), training, ...returning];
  assert.equal(story(...events).attempts[0]?.phase, 'training');
});

test('where the agent has another number than the log, its attempt is one, under the number of the agent', () => {
  const evicted = '004 Job was evicted.';
  const tries = [moving, moved, executing, evicted, moving, moved, executing, terminated(0)];
  const journal = (attempt: number, second: number): Entry[] => [
    said(attempt, second, started),
    said(attempt, second + 1, { kind: 'phase', phase: 'training' }),
    said(attempt, second + 2, { kind: 'agent-ended', outcome: 'success', exit: 0 }),
  ];
  const job = fold([...entriesOf([submitted, ...tries]), ...journal(1, 3), ...journal(3, 7)]).jobs[0]!;
  const shown = job.attempts.map(({ number: attempt, ending, agent }) => [attempt, ending, agent?.outcome]);
  assert.deepEqual(shown, [
    [1, 'evicted', 'success'],
    [3, 'success', 'success'],
  ]);
  const [, last] = fold([...entriesOf([submitted, ...tries]), ...journal(3, 7)]).jobs[0]!.attempts;
  assert.deepEqual([last?.number, last?.ending], [3, 'success']);
  assert.ok(last?.spans.some(({ doing }) => doing === 'training'));
});
