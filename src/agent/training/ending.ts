import os from 'node:os';
import { lastSaid, raisedAt } from '@updraft/base/training';
import { agentExits, Fault, kinds } from '@updraft/account/fault';
import type { Outcome } from '@updraft/account/journal';
import { deathFault, type RequestedMemory } from './death.ts';
import { checkpointExit, type CommandEnd } from './shell.ts';

/** The agent's exit code: 0 for a valid result, the training's own if it failed, otherwise that of the fault. */
export function exitCodeOf(fault: Fault | undefined, ended: CommandEnd | undefined): number {
  if (fault === undefined) return 0;
  return fault.kind === 'training-failed' && ended !== undefined
    ? commandExit(ended)
    : kinds[fault.kind].exit;
}

function commandExit({ status, signal }: CommandEnd): number {
  if (status === null) return 128 + (signal === undefined ? 0 : os.constants.signals[signal]);
  return status >= agentExits.from && status <= agentExits.to ? kinds['training-failed'].exit : status;
}

export function outcomeOf(fault: Fault | undefined): Outcome {
  if (fault === undefined) return 'success';
  if (fault.kind === 'evicted' || fault.kind === 'wrong-output') return fault.kind;
  return fault.kind === 'interrupted' ? 'stopped' : 'failed';
}

/** How shells report a missing command: `sh: 1: pytohn: not found`, `bash: line 1: pytohn: command not found`. */
const missingCommand = /^\S*sh: (?:line )?\d+: (.+?): (?:command )?(?:not found|Permission denied)$/;

/** The fault of a training that did not exit with 0; undefined if it did. */
export function trainingFault(
  ended: CommandEnd,
  command: string,
  lines: readonly string[],
  asked: RequestedMemory,
): Fault | undefined {
  if (ended.status === 0) return undefined;
  const lastLine = lines.at(-1) ?? '';
  const said = lastLine === '' ? '' : `: ${lastLine}`;
  if (ended.status === 127 || ended.status === 126) {
    // Any command of several may be missing: the shell names it.
    const word = missingCommand.exec(lastLine)?.[1] ?? firstWord(command);
    const isMissing = ended.status === 127;
    const what = isMissing ? 'was not found' : 'could not be run';
    return new Fault('command-missing', `the training command \`${word}\` ${what}${said}`, {
      fix: isMissing
        ? `list ${word} in \`files\`, use its full path, or choose an environment that has it`
        : `make it executable (\`chmod +x ${word}\`), or start it with its interpreter, as in \`bash ${word}\``,
      about: word,
    });
  }
  const death = ended.readings && deathFault(ended, lines, asked, ended.readings);
  if (death !== undefined) return death;
  const rank = ended.rank === undefined ? '' : ` (rank ${ended.rank})`;
  const how =
    ended.signal === undefined
      ? `failed with exit code ${ended.status ?? 0}`
      : `was killed by ${ended.signal}`;
  const place = raisedAt(lines);
  const about = [place ?? '', lastSaid(lines)].filter((part) => part !== '').join(': ');
  const where = about === '' ? '' : `${place === undefined ? ':' : ' in'} ${about}`;
  return new Fault('training-failed', `the training ${how}${rank}${where}`, {
    ...(about !== '' && { about }),
    ...(ended.status === checkpointExit && {
      fix:
        'name the checkpoint folder with `checkpoint` in [train]: ' +
        `exit code ${checkpointExit} means that it saved a checkpoint`,
    }),
  });
}

/** The program a shell command starts with, past assignments like `A=1`. */
function firstWord(command: string): string {
  const words = command.trim().split(/[\s;&|()<>]+/);
  return words.find((word) => word !== '' && !/^\w+=/.test(word)) ?? command;
}
