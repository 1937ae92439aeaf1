import { cases } from './cases.ts';
import { pieceSizes, replay, type Outcome } from './replay.ts';

export interface NamedOutcome extends Outcome {
  name: string;
}

/** The outcomes of all cases in pieces of several sizes, without what depends on the runtime or the machine. */
export async function replayCases(): Promise<NamedOutcome[]> {
  const outcomes: NamedOutcome[] = [];
  for (const { name, bytes, mode = 'auto', expect, limits } of cases)
    for (const pieceSize of pieceSizes(bytes, [1 << 20, 7919, 1])) {
      const options = { mode, ...(expect && { expect }), ...(limits && { limits }) };
      outcomes.push({
        name: `${name}, pieces of ${pieceSize}`,
        ...withoutPaths(await replay(bytes, options, pieceSize)),
      });
    }
  return outcomes;
}

function withoutPaths(outcome: Outcome): Outcome {
  if (outcome.fault === undefined) return outcome;
  const message = outcome.fault.message
    .replace(/cannot be decompressed.*|ends inside a zstd frame/, 'cannot be decompressed')
    .replace(/[\d,]+ free$/, 'some free');
  return { ...outcome, fault: { ...outcome.fault, message } };
}

if (import.meta.main) console.log(JSON.stringify(await replayCases()));
