import { Fault } from '../../fault/fault.ts';
import type { Senders } from '../fetch.ts';

const fix = 'correct `sha256`, `expect` or the manifest, or publish the right object under a new name';

/** The same bytes came twice and are not what was expected: no other server and no other machine has better ones. */
export function expectWrong(about: string, what: string, servers: Iterable<string>): Fault {
  const who = [...new Set(servers)];
  const same = who.length > 1 ? `${who.join(' and ')} have the same` : `${who[0]} sent the same twice`;
  return new Fault('expect-wrong', `${what}; ${same}`, { about, fix });
}

/** Of two deliveries that were wrong: the second fault, or, if both were wrong alike, that the expectation is. */
export function secondFault(
  about: string,
  first: Fault,
  again: unknown,
  [before, { servers, isOnly }]: [string[], Senders],
): unknown {
  const isSame = again instanceof Fault && again.kind === first.kind && again.message === first.message;
  const areOthers = isOnly || !servers.some((each) => before.includes(each));
  const isDamage = first.kind === 'archive-damaged';
  return isSame && areOthers && !isDamage
    ? expectWrong(about, first.message, [...before, ...servers])
    : again;
}
