import { showAd, type Ad } from '../../classad/ad.ts';
import { Fault } from '../../fault/fault.ts';
import { errorCodeOf } from './error-codes.ts';
import type { OutFile } from './out-file.ts';
import type { Outcome } from './outcome.ts';
import { briefAd, resultAd, type ResultContext } from './result-ad.ts';

/** HTCondor quotes the first failure as the reason of a hold, so what no other try can mend comes first. */
function ranked(outcomes: readonly Outcome[]): Outcome[] {
  const rank = ({ result }: Outcome): number =>
    result instanceof Fault ? (errorCodeOf(result).retryable ? 1 : 0) : 2;
  return outcomes.toSorted((one, other) => rank(one) - rank(other));
}

/**
 * Writes one ad per outcome: in full, or, where the disk has no room, as briefly as it takes to fit into what is
 * there. Throws a Fault if not even that works.
 */
export function writeReport(file: OutFile, outcomes: readonly Outcome[], context: ResultContext): void {
  const text = (ad: (outcome: Outcome) => Ad): string =>
    ranked(outcomes)
      .map((outcome) => `${showAd(ad(outcome))}\n`)
      .join('');
  const { room } = file;
  try {
    file.write(text((outcome) => resultAd(outcome, context)));
  } catch (error) {
    const brief = [1500, 300, 60].map((longest) => text((outcome) => briefAd(outcome, context, longest)));
    const fitting = brief.find((each) => Buffer.byteLength(each) <= room);
    if (fitting === undefined) throw error;
    file.write(fitting);
  }
}
