import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainReason } from './explain-reason.ts';

const causes: [name: string, pasted: string, cause: string, because: RegExp][] = [
  [
    'words alone',
    'Error from slot1_1@e1.example.org: Job has gone over cgroup memory limit of 2048 megabytes. Peak usage: 1940 megabytes.',
    'memory-exceeded',
    /2048 MB requested/,
  ],
  [
    'the lines of an event log',
    'Transfer output files failure at execution point slot1@e1. Details: reading from file /x/out.pt: (errno 2) No such file\n\tCode 12 Subcode 2',
    'output-missing',
    /without writing \/x\/out\.pt/,
  ],
  [
    'attributes of an ad',
    'HoldReason = "The job exceeded allowed execute duration of 0+01:00:00"\nHoldReasonCode = 47\nHoldReasonSubCode = 0\n',
    'time-limit',
    /allowed_execute_duration of 0/,
  ],
  ['the words of condor_hold', 'via condor_hold (by user alice)', 'user', /A user held it/],
  [
    'the words of a rule',
    "The job attribute PeriodicHold expression 'x > 3' evaluated to TRUE",
    'job-policy',
    /A rule of the job/,
  ],
  ['the words of spooling', 'Spooling input data files', 'staging', /being copied/],
  [
    'a full disk of the machine',
    'Error from glidein_1@wn29: STARTER at 10.1.5.29 failed to write to file /x/dir_5025/a: (errno 28) No space left on device',
    'disk-full',
    /disk of the machine was full/,
  ],
  ['words that nobody knows', 'gremlins <script>', 'unknown', /this reason: gremlins <script>/],
];

for (const [name, pasted, cause, because] of causes)
  test(`a pasted hold reason is explained: ${name}`, () => {
    const explanation = explainReason(pasted);
    assert.equal(explanation.cause, cause);
    assert.match(explanation.because.join(' '), because);
    assert.ok(explanation.advice.length > 0);
  });
