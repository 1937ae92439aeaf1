import { causeInfo, type Cause, type Outlook } from '../codes/causes.ts';
import { readPolicyHold, codeRowOf } from '../codes/codes.ts';
import { isEmpty, type ReportedReason } from '../codes/row.ts';
import type { Resource } from '../eventlog/details.ts';
import { kinds } from '../fault/kinds.ts';
import { factsOf, fill } from './facts.ts';
import { safeLine } from './quote-event.ts';

/** Why an attempt ended, was held or was evicted. */
export interface Diagnosis {
  cause: Cause;
  /** Sentences with figures; the first says why. */
  because: string[];
  /** Whether another try will end the same way. */
  outlook: Outlook;
  /** What anyone could do. */
  advice: string[];
  /** What the author of a submit file could do in it. */
  submitAdvice?: string[];
}

type HoldAccount = ReportedReason & { resources: readonly Resource[] };

/**
 * The cause of a hold or an eviction by the table of codes, with the figures and names of this one. What the table
 * does not know stays `unknown` and keeps HTCondor's words: no guessing.
 */
export function diagnose(account: HoldAccount, seenMb = 0): Diagnosis {
  const own = readPolicyHold(account);
  if (own?.by === 'exit') return ownRuleDiagnosis(account.reason, own.kind);
  if (own?.by === 'late')
    return diagnosisOf('time-limit', [`${safeLine(account.reason)}.`.replace(/^g/, 'G')]);
  const row = codeRowOf(own?.said ?? account);
  const fullAccount = { ...account, ...own?.said };
  const facts = factsOf(fullAccount, seenMb);
  const sentences = row === undefined ? [unknown(fullAccount)] : [row.sentence, ...(row.more ?? [])];
  const because = row === undefined ? sentences : sentences.flatMap((one) => fill(one, facts) ?? []);
  const again =
    own && `It was started ${own.starts} times and never succeeded; the policy of the run held it.`;
  const advice = row?.advice === undefined ? undefined : fill(row.advice, facts);
  return diagnosisOf(row?.cause ?? 'unknown', [...because, ...(again === undefined ? [] : [again])], {
    advice: advice === undefined ? [] : [advice],
    ...(row?.outlook === undefined ? {} : { outlook: row.outlook }),
  });
}

/** A diagnosis whose own advice comes before the general advice of its cause. */
export function diagnosisOf(
  cause: Cause,
  because: string[],
  { advice = [], outlook }: { advice?: string[]; outlook?: Outlook } = {},
): Diagnosis {
  const info = causeInfo(cause);
  return {
    cause,
    because,
    outlook: outlook ?? info.outlook,
    advice: [...advice, info.advice],
    ...(info.submit === undefined ? {} : { submitAdvice: [info.submit] }),
  };
}

/** Our own rule that holds a job after an attempt that failed, until the next try. */
function ownRuleDiagnosis(reason: string, kind: keyof typeof kinds | undefined): Diagnosis {
  const meaning = kind === undefined ? '.' : ` (${kind}): ${kinds[kind].what}`;
  return {
    cause: kind ?? 'signal',
    because: [`${reason.trim().replace(/^t/, 'T')}${meaning}`],
    outlook: 'passing',
    advice: [],
  };
}

function unknown({ code, subcode, reason }: HoldAccount): string {
  if (code !== undefined && code >= 1000)
    return `It left the slot with code ${code}, which Updraft does not know${isEmpty(reason) ? '.' : `: ${safeLine(reason)}`}`;
  const codes = code === undefined ? 'no code' : `code ${code}, subcode ${subcode ?? 0}`;
  return `HTCondor gives ${codes} and ${isEmpty(reason) ? 'no reason.' : `this reason: ${safeLine(reason)}`}`;
}
