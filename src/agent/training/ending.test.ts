import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault, type FaultKind, kinds } from '@updraft/account/fault';
import { exitCodeOf, outcomeOf, trainingFault } from './death.ts';

const asked = { memoryBytes: 1e9 };

test('every exit code of a training is passed on, except those in our own range', () => {
  for (let status = 1; status <= 255; status++) {
    const ended = { status };
    const fault = trainingFault(ended, 'python3 main.py', [], asked);
    const exit = exitCodeOf(fault, ended);
    if (status === 126 || status === 127) assert.equal(exit, kinds['command-missing'].exit);
    else assert.equal(exit, status >= 86 && status <= 120 ? kinds['training-failed'].exit : status);
  }
  assert.equal(trainingFault({ status: 0 }, 'true', [], asked), undefined);
  assert.equal(exitCodeOf(undefined, { status: 0 }), 0);
});

test('a signal that the program caused is reported as shells do', () => {
  const ended = { status: null, signal: 'SIGSEGV' } as const;
  assert.equal(exitCodeOf(trainingFault(ended, 'true', [], asked), ended), 139);
});

test("any other fault's own exit code wins over the training's exit code", () => {
  assert.equal(exitCodeOf(new Fault('wrong-output', 'x'), { status: 0 }), 112);
  assert.equal(exitCodeOf(new Fault('evicted', 'x'), { status: null, signal: 'SIGTERM' }), 113);
});

test('each fault has its outcome', () => {
  const outcomes = Object.fromEntries(
    (Object.keys(kinds) as FaultKind[]).map((kind) => [kind, outcomeOf(new Fault(kind, ''))]),
  );
  assert.equal(outcomeOf(undefined), 'success');
  assert.equal(outcomes['evicted'], 'evicted');
  assert.equal(outcomes['interrupted'], 'stopped');
  assert.equal(outcomes['wrong-output'], 'wrong-output');
  assert.equal(outcomes['disk-full'], 'failed');
});

test('the message has the last line of stderr and the line of the script', () => {
  const lines = ['Traceback', 'File "/s/updraft-1/work/train.py", line 7, in load', 'ValueError: no classes'];
  const fault = trainingFault({ status: 1 }, 'python3 main.py', lines, asked);
  assert.equal(fault?.kind, 'training-failed');
  assert.match(fault.message, /failed with exit code 1 in train\.py, line 7: ValueError: no classes$/);
});

test('a script without execute permission gets the fix chmod', () => {
  const denied = trainingFault({ status: 126 }, './run.sh', ['sh: 1: ./run.sh: Permission denied'], asked);
  assert.match(denied?.fix ?? '', /chmod \+x \.\/run\.sh/);
});

test('in a line of several commands, the missing one is named', () => {
  const word = (lastLine: string) =>
    trainingFault({ status: 127 }, 'A=1 python3 prepare.py && trian', [lastLine], asked)?.about;
  assert.equal(word('/bin/sh: 1: trian: not found'), 'trian');
  assert.equal(word('bash: line 3: trian: command not found'), 'trian');
  assert.equal(word(''), 'python3');
});
