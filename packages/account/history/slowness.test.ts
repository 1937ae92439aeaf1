import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentState } from '../journal/agent-state.ts';
import type { AttemptHistory } from './history.ts';
import { slownessOf } from './slowness.ts';

interface Figures {
  cores: number;
  idle?: { from: string; to: string };
  slot?: Record<string, number>;
  queued?: number;
  blocked?: number;
  seconds?: number;
  gpuPercent?: number;
  waited?: number;
  cpus?: number;
}

function said({
  cores,
  queued = 0,
  blocked = 0,
  seconds = 100,
  gpuPercent,
  waited,
  cpus = 8,
  idle,
  slot,
}: Figures) {
  const samples = 10;
  const agent = {
    load: {
      ...{ samples, seconds, used: cores * seconds, queued: queued * seconds },
      ...{ processes: 9 * samples, blocked: blocked * samples },
    },
    millis: { training: 100_000 },
    ...(gpuPercent !== undefined && { gpuUse: { percent: gpuPercent, samples: 2, ...(idle && { idle }) } }),
    training: { waited },
    ...(slot && { slot }),
  } as unknown as AgentState;
  const gpus = gpuPercent === undefined ? 0 : 1;
  return slownessOf({ agent, cpus, gpus } as unknown as AttemptHistory);
}

test('of an idle GPU it is said what keeps it waiting, with the figures', () => {
  const cores = said({ gpuPercent: 18, cores: 7.9 });
  assert.equal(cores?.figures, 'its GPU was 18 % busy, and its 9 processes used 7.9 of 8 cores');
  assert.match(cores.advice, /^Decode on the GPU/);
  const one = said({ gpuPercent: 18, cores: 1.1 });
  assert.equal(one?.figures, 'its GPU was 18 % busy, and its 9 processes used 1.1 of 8 cores');
  assert.match(one.advice, /num_workers/);
  assert.equal(
    said({ gpuPercent: 5, cores: 7.9, waited: 60 })?.figures,
    'its GPU was 5 % busy, and it waited for data for 60.0 % of its training',
  );
  assert.match(
    said({ gpuPercent: 5, cores: 1, blocked: 4 })?.figures ?? '',
    /4\.0 of its 9 processes waited for the disk/,
  );
});

test('nothing is said of a busy GPU, of cores that are used, or of a beginning', () => {
  assert.equal(said({ gpuPercent: 80, cores: 8 }), undefined);
  assert.equal(said({ cores: 8 }), undefined);
  assert.equal(said({ cores: 0.9, cpus: 1, queued: 0.2 }), undefined);
  assert.equal(said({ cores: 0, seconds: 10 }), undefined);
});

test('a training without a GPU that shares its core with others, or has nothing to do', () => {
  assert.equal(said({ cores: 0.5, queued: 0.5, cpus: 1 })?.what, 'neighbours');
  assert.equal(said({ cores: 0.1 })?.what, 'idle');
});

test('a GPU that was busy and then idle for ten minutes is named', () => {
  const until = (to: string) =>
    said({ cores: 8, gpuPercent: 80, idle: { from: '2026-11-19T10:00:00Z', to } });
  assert.equal(until('2026-11-19T10:09:00Z'), undefined);
  assert.deepEqual(until('2026-11-19T10:25:00Z'), {
    what: 'idle-gpu',
    figures: 'its GPU was idle for 25m at last, although it printed',
    advice: 'See in its log what it did then. `idle_limit` in [train] ends such an attempt.',
  });
});

test('what the slot could do at first is said with what the training lacked', () => {
  const slot = { diskBytesPerSecond: 40e6, imagesPerSecond: 480, memoryBytesPerSecond: 3e9 };
  assert.match(
    said({ gpuPercent: 18, cores: 7.9, slot })?.figures ?? '',
    /7\.9 of 8 cores; at first a core decoded 480 JPEG images per second$/,
  );
  assert.match(said({ cores: 1, blocked: 4, slot })?.figures ?? '', /; at first its disk wrote 40 MB\/s$/);
  assert.match(
    said({ cores: 0.5, queued: 0.5, cpus: 1, slot })?.figures ?? '',
    /; at first a core copied 3 GB\/s$/,
  );
  assert.doesNotMatch(said({ cores: 0.1, slot })?.figures ?? '', /at first/);
});
