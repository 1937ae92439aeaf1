import { beginningBytes, gather, isEventLog, type LogSource } from '@updraft/htcondor/eventlog';
import { historyOfAd, parseLongAds } from './ad-history.ts';
import type { JobHistory } from './history.ts';

/** Enough to recognize ads. */
const headBytes = 64 * 1024;

/** Whether a file that begins with this text is what `condor_q -l` or `condor_history -l` has printed. */
export const isJobAds = (text: string): boolean => /^ClusterId\s*=\s*\d+\s*$/m.test(text);

/** The jobs of a file that `condor_q -l` or `condor_history -l` has printed; undefined if it is not one. */
export async function readAds(source: LogSource): Promise<JobHistory[] | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of gather(source.open(), beginningBytes)) {
    const head = piece.subarray(0, headBytes);
    if (text === '' && (isEventLog(head) || !isJobAds(decoder.decode(head)))) return undefined;
    text += decoder.decode(piece, { stream: true });
  }
  return text === '' ? undefined : parseLongAds(text).map((ad) => historyOfAd(ad, source.name));
}
