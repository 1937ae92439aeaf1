import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { codesOf } from '../../scripts/codes-table.ts';
import { causeInfo, type CodeRow, faultOfHold, type Remedy, remedyForHold } from '@updraft/account/codes';
import {
  adviceFor,
  adviceOn,
  attemptDiagnosis,
  codeRowOf,
  endFromHold,
  ledgerOf,
  logReport,
} from '@updraft/account/testing';
import type { LogEvent } from '@updraft/htcondor/eventlog';
import { type JobHistory, LogFold } from '@updraft/account/history';
import { fold, type JobState } from '@updraft/account/journal';
import { EventEntries } from '../../src/pool/condor/follow/event-log-source.ts';
import { decide } from '@updraft/account/recovery';
import type { LogReport } from '@updraft/account/report';
import { explainStory, whatMustChange } from '@updraft/account/why';
import { parseEventLog, stamps } from '../eventlogs/plain.ts';
import { examples, nameOf, removalExamples, type Example } from './examples.ts';

const policy = {
  attempts: 5,
  avoid: 'site' as const,
  memory: { asked: 1, most: 4 },
  disk: { asked: 1, most: 4 },
  backoff: { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 600 },
};
const table = readFileSync(path.join(import.meta.dirname, '../../docs/recovery.md'), 'utf8').split('\n');

const faultOf = ({ fault, cause }: CodeRow): string => fault ?? causeInfo(cause).fault;

/** A log in which a job runs and ends with this event. */
function eventsOf({ said: { code, subcode, reason } }: Example, isRemoval = false): LogEvent[] {
  const event = (number: string, second: number, text: string): string =>
    `${number} (007.000.000) 2026-03-04 10:00:0${second} ${text}\n...\n`;
  const codes = `Code ${code} Subcode ${subcode}`;
  const end = isRemoval
    ? event('009', 3, `Job was aborted.\n\t${reason}`)
    : code === undefined
      ? event('007', 3, `Shadow exception!\n\t${reason}`)
      : code >= 1000
        ? event('004', 3, `Job was evicted. ${codes}\n\t(0) CPU times\n\tReason: ${reason}`)
        : event('012', 3, `Job was held.\n\t${reason}\n\t${codes}`);
  const text =
    event('000', 0, 'Job submitted from host: <10.0.0.1:9618>') +
    event('001', 1, 'Job executing on host: <10.0.0.2:9618>\n\tSlotName: slot1_1@siteA@node') +
    end;
  return parseEventLog(Buffer.from(text), stamps).events;
}

function historyOf(events: readonly LogEvent[]): { job: JobHistory; report: LogReport } {
  const log = new LogFold({ evidence: 'job.log' });
  for (const event of events) log.add(event);
  const jobs = log.finish();
  const [job] = jobs;
  assert.ok(job);
  return { job, report: logReport(jobs, ledgerOf(jobs, log.facts), { logs: [], notes: [] }) };
}

function stateOf(events: readonly LogEvent[]): JobState {
  const entries = new EventEntries(
    { willRelease: () => true },
    {
      jobOf: () => ({ job: '0000', round: 1 }),
      sizeOf: () => 1,
      retriesOf: () => ({ round: 1, releases: 0 }),
    },
  );
  for (const event of events) entries.add(event);
  const [job] = fold(entries.take()).jobs;
  assert.ok(job);
  return job;
}

/** The part of a row's sentence that is the same for every job. */
const beginningOf = ({ sentence }: CodeRow): string => sentence.split('{')[0] ?? '';

/** The explanation is complete: every name is filled in, and the advice of the cause is there. */
function assertSaid(example: Example, cause: string | undefined, because: string[], advice: string[]): void {
  const { row } = example;
  assert.equal(cause, row.cause);
  assert.ok(because[0]?.includes(beginningOf(row)), because[0]);
  assert.ok(!/[{}]/.test([...because, ...advice].join(' ')), 'every name is filled in');
  assert.ok(advice.includes(causeInfo(row.cause).advice), advice.join(' '));
}

/** How a retry puts each required change. */
const needs = {
  memory: /--memory/,
  disk: /--disk/,
  time: /--time/,
  files: /script|command of the job file/,
  nothing: /the job was fine/,
  retry: /another try, or another machine, may succeed/,
  you: /./,
  staff: /./,
};
const noChange = {
  memory: false,
  disk: false,
  time: false,
  files: { changed: [], used: false },
};

function assertRetry({ row }: Example, job: JobHistory): void {
  const { change } = causeInfo(row.cause);
  const { what, isMet } = whatMustChange(explainStory(job), noChange);
  assert.match(what, needs[change]);
  assert.equal(
    isMet,
    change === 'nothing' || change === 'retry' ? true : /you|staff/.test(change) ? undefined : false,
  );
}

function assertInDocs({ row }: Example, codes: string): void {
  const line = table.find(
    (one) =>
      one.startsWith(`| ${codes} | `) &&
      one.includes(beginningOf(row).replace(/\.$/, '')) &&
      one.includes(` | \`${row.cause}\` | \`${faultOf(row)}\` | `),
  );
  assert.ok(line !== undefined, `docs/recovery.md has no line for ${codes}: run \`npm run docs\``);
}

const waits: Record<Remedy, number | undefined> = {
  elsewhere: 0,
  later: 300,
  'more-memory': 0,
  'more-disk': 0,
  never: undefined,
};

/** Seconds before the policy's next attempt; undefined if there is none. */
function waitBy(hold: Parameters<typeof endFromHold>[0]): number | undefined {
  const decision = decide({ attempts: [{ outcome: 'failed', endedAt: 0, ...endFromHold(hold) }] }, policy, 0);
  return decision.do === 'end' ? undefined : decision.do === 'wait' ? decision.until / 1000 : 0;
}

const removed = 1023;

for (const example of examples)
  test(`${nameOf(example)} is the same in all views`, () => {
    const { row, said } = example;
    const { code, subcode = 0, reason } = said;
    assert.equal(codeRowOf(said), row, 'another row stands before it');
    assertInDocs(example, codesOf(row).join(', ') || 'any');
    // The next event says who removed it.
    if (code === removed) return;
    const { job, report } = historyOf(eventsOf(example));
    const state = stateOf(eventsOf(example));
    const [attempt] = job.attempts;
    const diagnosis = attempt && attemptDiagnosis(attempt);
    assert.equal(attempt?.cause, row.cause, 'the history');
    const advised = diagnosis && adviceOn(diagnosis, { isOurs: true });
    assertSaid(example, diagnosis?.cause, diagnosis?.because ?? [], advised ?? []);
    if (code === undefined) return;
    assert.equal(faultOfHold(code, subcode, reason).kind, faultOf(row));
    assert.equal(state.attempts[0]?.fault?.kind, faultOf(row), 'status and dashboard');
    const answer = row.answer ?? 'never';
    if (code >= 1000) return;
    assert.ok(answer !== 'requeued');
    assert.notEqual(faultOf(row), 'evicted', 'a hold is no eviction');
    const { cause, because, advice } = explainStory(job);
    assertSaid(example, cause, because, advice);
    assert.equal(state.held?.kind, faultOf(row), 'status and dashboard, while it is held');
    assert.deepEqual(
      report.failures.map((one) => [one.cause, one.remedy]),
      [[row.cause, adviceFor(row.cause)]],
    );
    assertRetry(example, job);
    assert.equal(remedyForHold({ code, subcode, reason }, 1), answer);
    if (code !== 1) assert.equal(waitBy({ code, subcode, reason }), waits[answer], 'decide');
  });

for (const example of removalExamples)
  test(`a removal by ${nameOf(example)} is the same in all views`, () => {
    const { job, report } = historyOf(eventsOf(example, true));
    const { cause, because } = explainStory(job);
    assert.equal(cause, example.row.cause);
    assert.ok(because[0]?.includes(beginningOf(example.row)), because[0]);
    assert.equal(report.failures[0]?.cause, example.row.cause);
    assert.equal(stateOf(eventsOf(example, true)).outcome, 'removed');
    assertInDocs(example, 'removed');
  });

test('a code that is not in the table is unknown in all views, and never an eviction', () => {
  const known = new Set(examples.map(({ said }) => said.code));
  for (const code of [2, 28, 37, 50, 77, 999].filter((one) => !known.has(one))) {
    const said = { code, subcode: 0, reason: 'the flux is out of phase' };
    const { job } = historyOf(eventsOf({ row: examples[0]!.row, said }));
    assert.equal(explainStory(job).cause, 'unknown');
    assert.equal(faultOfHold(code, 0, said.reason).kind, 'pool-hold');
    assert.equal(remedyForHold(said, 1), 'never');
  }
});
