import os from 'node:os';
import { Fault } from '../../fault/fault.ts';
import { kinds } from '../../fault/kinds.ts';
import type { Outcome } from '../../journal/entry.ts';
import type { Ended } from './shell.ts';

/** Exit codes in this range say what the agent found; a training's own must not be mistaken for them. */
const ours = { from: 90, to: 119 };

/** A training that ends with it, and an agent that does, has saved a checkpoint and is to be run again. */
export const checkpointExit = 85;

/** The agent's exit code: 0 for a valid result, a failed training's own status, otherwise that of the fault. */
export function exitCodeOf(fault: Fault | undefined, ended: Ended | undefined): number {
  if (fault === undefined) return 0;
  return fault.kind === 'training-failed' && ended !== undefined ? ownExit(ended) : fault.info.exit;
}

function ownExit({ status, signal }: Ended): number {
  if (status === null) return 128 + (signal === undefined ? 0 : os.constants.signals[signal]);
  return status >= ours.from && status <= ours.to ? kinds['training-failed'].exit : status;
}

export function outcomeOf(fault: Fault | undefined): Outcome {
  if (fault === undefined) return 'success';
  if (fault.kind === 'evicted' || fault.kind === 'wrong-output') return fault.kind;
  return fault.kind === 'interrupted' ? 'stopped' : 'failed';
}

/** How shells tell of a command: `sh: 1: pytohn: not found`, `bash: line 1: pytohn: command not found`. */
const missingWord = /^\S*sh: (?:line )?\d+: (.+?): (?:command )?(?:not found|Permission denied)$/;

/** What to say of a training that did not end with status 0; undefined for one that did. */
export function trainingFault(ended: Ended, command: string, lastLine: string): Fault | undefined {
  if (ended.status === 0) return undefined;
  const said = lastLine === '' ? '' : `: ${lastLine}`;
  if (ended.status === 127 || ended.status === 126) {
    // A line of several commands may have lacked any of them: the shell names the one.
    const word = missingWord.exec(lastLine)?.[1] ?? firstWord(command);
    const what = ended.status === 127 ? 'cannot be found' : 'cannot be run';
    return new Fault('command-missing', `the training command \`${word}\` ${what}${said}`, {
      fix: `send ${word} along in \`files\`, name its path, or use an environment that has it`,
      about: word,
    });
  }
  const how = ended.signal === undefined ? `with status ${ended.status ?? 0}` : `by ${ended.signal}`;
  return new Fault('training-failed', `the training ended ${how}${said}`, {
    fix: adviceFor(ended, lastLine),
  });
}

function adviceFor(ended: Ended, lastLine: string): string {
  if (/No space left on device|Errno 28\b/.test(lastLine)) return 'ask for more `disk` in [resources]';
  if (ended.signal === 'SIGKILL' || ended.status === 137)
    return 'it was killed, most often because memory ran out: ask for more `memory` in [resources]';
  if (ended.status === checkpointExit)
    return `${checkpointExit} says that it saved a checkpoint: name its folder with \`checkpoint\` in [train]`;
  if (/CUDA out of memory/.test(lastLine)) return 'use a smaller batch, or ask for a GPU with more memory';
  return 'its whole output is in out.log and err.log of the attempt';
}

/** The program a shell command starts with, past assignments like `A=1`. */
function firstWord(command: string): string {
  const words = command.trim().split(/[\s;&|()<>]+/);
  return words.find((word) => word !== '' && !/^\w+=/.test(word)) ?? command;
}
