import { Fault as AnyFault } from '@updraft/base';
import { Fault } from '../../fault.ts';
import type { FetchOptions } from '../fetch.ts';

const wrongKinds = ['data-corrupt', 'data-wrong', 'archive-damaged', 'archive-kind', 'data-unexpected'];
const fix = 'correct `sha256`, `expect` or the manifest, or publish the right object under a new name';

/** The same bytes came twice and are not what was expected: no other server and no other machine has better ones. */
export function expectWrong(about: string, what: string, servers: Iterable<string>): Fault {
  // An earlier attempt does not say which server sent its bytes.
  const who = [...new Set(servers)].filter((server) => server !== '');
  const same = who.length > 1 ? `${who.join(' and ')} have the same` : `${who[0]} sent the same twice`;
  return new Fault('expect-wrong', `${what}; ${same}`, { about, fix });
}

/**
 * Delivers an object to a reader that takes its bytes in order. If it is wrong, it comes once more, from servers that
 * had no part in the first delivery, if there are any; if it is wrong in the same way, so is what the user expects.
 */
export async function deliverAgainIfWrong<Options extends FetchOptions, Delivered>(
  about: string,
  options: Options,
  deliver: (options: Options, isAgain: boolean) => Promise<Delivered>,
): Promise<Delivered> {
  let sent: string[] = [];
  const { suspects = new Set(), manifest, sha256 } = options;
  const own = { ...options, suspects, onSenders: (servers: string[]) => void (sent = servers) };
  try {
    return await deliver(own, false);
  } catch (error) {
    const isWrong = error instanceof AnyFault && wrongKinds.includes(String(error.kind));
    // Verified bytes will be the same again, and so will a file that no server sent.
    const isVerified = manifest !== undefined || (isWrong && error.cause instanceof AnyFault);
    if (!isWrong || isVerified || sent.length === 0) throw error;
    const first = sent;
    options.onEvent?.({ kind: 'setback', server: first.join(', '), fault: error });
    for (const server of first) suspects.add(server);
    return await deliver(own, true).catch((again: unknown) => {
      const isExpected =
        error.kind === 'data-unexpected' || (error.kind === 'data-corrupt' && sha256 !== undefined);
      const isSame =
        again instanceof AnyFault && again.kind === error.kind && again.message === error.message;
      throw isExpected && isSame ? expectWrong(about, error.message, [...first, ...sent]) : again;
    });
  }
}
