import { kindOfExit } from '../codes/remedies.ts';
import type { Cause } from '../codes/causes.ts';
import { causeOfReason } from '../codes/codes.ts';
import { removals } from '../codes/evictions.ts';
import { matchesRow } from '../codes/row.ts';
import type { Termination } from '@updraft/htcondor/eventlog';
import { fill, afterColon } from './facts.ts';
import { safeLine } from './quote-event.ts';

const known = new Map<string, Cause>();
const maxKnown = 20_000;

/**
 * The cause of a hold or an eviction, as `diagnose` finds it. A million holds have only a few different reasons, and
 * each is judged once.
 */
export function causeOf(code: number | undefined, subcode: number | undefined, reason = ''): Cause {
  const key = `${code ?? ''} ${subcode ?? ''} ${reason}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const cause = causeOfReason({ code, subcode, reason });
  if (known.size >= maxKnown) known.clear();
  known.set(key, cause);
  return cause;
}

/**
 * The cause of a job's own exit: `none` if it succeeded. In Updraft's runs the agent's exit codes say what failed; in
 * others they mean nothing in particular.
 */
export function exitCause(termination: Termination | undefined, ours: boolean): Cause {
  if (termination?.normal !== true) return ours && termination !== undefined ? 'agent-killed' : 'signal';
  if (termination.returnValue === 0) return 'none';
  return kindOfExit(termination.returnValue, ours) ?? 'exit-code';
}

/** Who or what removed a job, by HTCondor's reason, and a sentence about it. */
export function removalCause(reason: string): [Cause, string] {
  const said = reason.trim();
  const row = removals.find(matchesRow({ code: undefined, subcode: undefined, reason: said }));
  if (row === undefined)
    return [
      'unknown',
      said === ''
        ? 'It was removed; the log does not say who did it.'
        : `It was removed for this reason: ${safeLine(said)}`,
    ];
  const user = /\(by user ([^)]+)\)/.exec(said)?.[1];
  const words = afterColon(said.replace(/\s*\(by user [^)]+\)$/, ''));
  return [row.cause, fill(row.sentence, { user: user && safeLine(user), words }) ?? row.sentence];
}

/** Removing a held job gives up on what held it: then the hold is the cause. */
export const causeOfRemoved = (removal: Cause, hold: Cause | undefined): Cause =>
  hold === undefined || hold === 'user' || hold === 'staging' ? removal : hold;
