import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import { Brakes } from './brakes.ts';
import type { SharedNotes } from './shared-notes.ts';

const pace = { attempts: 5, firstWait: 300, mostWait: 3600 };
const object = 'osdf:///ns/a.tar';

function notesIn(notes: Map<string, string>): SharedNotes {
  return {
    put: (name, text) => Promise.resolve(notes.set(name, text).has(name)),
    list: () => Promise.resolve([...notes.keys()]),
    read: (name) => Promise.resolve(notes.get(name)),
  };
}

/** Two attempts of a run, on two machines with the same time. */
function pair(): { clock: ManualClock; one: Brakes; other: Brakes; notes: Map<string, string> } {
  const notes = new Map<string, string>();
  const clock = new ManualClock();
  const shared = notesIn(notes);
  return { clock, notes, one: new Brakes(shared, clock, pace), other: new Brakes(shared, clock, pace) };
}

test('what one attempt found missing, the others do not look for until it is time', async () => {
  const { clock, one, other } = pair();
  await one.pull(object);
  await assert.rejects(other.heed(object), /is missing everywhere: another attempt .* looks again at/);
  await other.heed('osdf:///ns/b.tar');
  await clock.pass(300_000);
  await other.heed(object);
});

test('when the time is over one looks for all, and the others wait for it', async () => {
  const { clock, one, other } = pair();
  await one.pull(object);
  await clock.pass(300_000);
  await one.heed(object);
  await assert.rejects(other.heed(object), /missing everywhere/);
  await clock.pass(60_000);
  await other.heed(object);
});

test('a brake that is drawn out lasts longer each time, and a good answer lifts it for all', async () => {
  const { clock, one, other } = pair();
  await one.pull(object);
  await clock.pass(300_000);
  await one.heed(object);
  await one.pull(object);
  await clock.pass(599_000);
  await assert.rejects(other.heed(object), /missing everywhere/);
  await clock.pass(1000);
  await one.heed(object);
  await one.lift(object);
  await other.heed(object);
  await one.pull(object);
  await clock.pass(300_000);
  await other.heed(object);
});

test('many that miss an object at the same time draw the brake no longer than one', async () => {
  const { clock, one, other } = pair();
  for (const attempt of [one, other, one, other]) await attempt.pull(object);
  await clock.pass(300_000);
  await other.heed(object);
  await one.pull(object);
  await other.pull(object);
  await clock.pass(599_000);
  await assert.rejects(one.heed(object), /missing everywhere/);
  await clock.pass(1000);
  await one.heed(object);
});

test('a note that makes no sense stops nobody', async () => {
  const { notes, one } = pair();
  await one.pull(object);
  const [name = ''] = notes.keys();
  for (const text of ['', '{', 'null', '[]', '{"until":"x"}', '{"until":9e99,"misses":1}']) {
    notes.set(name, text);
    await one.heed(object);
  }
});
