import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { LogEvent } from '../../src/eventlog/events.ts';
import { parseEventLog } from '../../src/eventlog/parse.ts';
import { explainStory } from '../../src/why/explain-story.ts';
import { osgLog } from '../../scripts/osg-log.ts';
import { LogFold } from '../../src/history/log-fold.ts';
import { stamps } from '../eventlogs/plain.ts';
import { eventLogs } from './render-log.ts';

const eventsOf = (log: Uint8Array): LogEvent[] => parseEventLog(log, stamps).events;

/** The causes of the jobs that are over or held, by what `updraft report` counts. */
function reported(events: readonly LogEvent[]): Map<string, string> {
  const fold = new LogFold();
  for (const event of events) fold.add(event);
  return new Map(fold.finish().flatMap(({ id, cause }) => (cause === undefined ? [] : [[id, cause]])));
}

function assertAgreement(events: readonly LogEvent[], log: string): number {
  const fold = new LogFold({ evidence: log });
  for (const event of events) fold.add(event);
  const explained = new Map(fold.finish().map((story) => [story.id, explainStory(story).cause]));
  const causes = reported(events);
  for (const [job, cause] of causes) assert.equal(cause, explained.get(job), `${log}: job ${job}`);
  return causes.size;
}

const ends = new Set<LogEvent['kind']>(['held', 'terminated', 'aborted']);

test('why and report name the same cause, at every hold and every end of every real log', () => {
  let compared = 0;
  for (const log of readdirSync(eventLogs).filter((name) => name.endsWith('.log'))) {
    const events = eventsOf(readFileSync(path.join(eventLogs, log)));
    for (const [index, { kind }] of events.entries())
      if (ends.has(kind)) compared += assertAgreement(events.slice(0, index + 1), log);
  }
  assert.ok(compared > 30, `${compared} compared`);
});

test('why and report name the same cause for each of the published 100 jobs', () => {
  assert.equal(assertAgreement(eventsOf(Buffer.from(osgLog())), 'osg.log'), 18);
});
