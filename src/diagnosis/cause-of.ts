import type { Cause } from './causes.ts';
import { diagnose } from './diagnose.ts';

const known = new Map<string, Cause>();
const mostKnown = 20_000;

/**
 * What a hold or an eviction comes from, in a word: the cause that `diagnose` finds. A million holds have few reasons
 * among them, so each is judged once.
 */
export function causeOf(code: number | undefined, subcode: number | undefined, reason = ''): Cause {
  const key = `${code ?? ''} ${subcode ?? ''} ${reason}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const { cause } = diagnose({ code, subcode, reason, resources: [] });
  if (known.size >= mostKnown) known.clear();
  known.set(key, cause);
  return cause;
}
