import { given } from '@updraft/base';
import { causeInfo, sentence, type Cause, type Outlook } from '../codes/causes.ts';
import { readPolicyHold, codeRowOf } from '../codes/codes.ts';
import { isEmpty, type ReportedReason } from '../codes/row.ts';
import type { Resource } from '@updraft/htcondor/eventlog';
import type { FaultKind } from '../fault/kinds.ts';
import { faultWords } from '../fault/words.ts';
import { factsOf, fill } from './facts.ts';
import { safeLine } from './quote-event.ts';

/** Why an attempt ended, was held or was evicted. */
export interface Diagnosis {
  cause: Cause;
  /** Sentences with figures; the first says why. */
  because: string[];
  /** Whether another try will end the same way. */
  outlook: Outlook;
  /** What helps against this one, before the general advice for its cause. */
  advice: string[];
  /** Whether that general advice would be wrong here. */
  isAllAdvice?: true;
  /** HTCondor's own words, if Updraft does not know them. */
  said?: string;
}

type HoldAccount = ReportedReason & { resources: readonly Resource[] };

/**
 * The cause of a hold or an eviction by the table of codes, with the figures and names of this one. What the table
 * does not know stays `unknown` and keeps HTCondor's words: no guessing.
 */
export function diagnose(account: HoldAccount, seenMb = 0): Diagnosis {
  const own = readPolicyHold(account);
  if (own?.by === 'exit') return ownRuleDiagnosis(account.reason, own.kind);
  if (own?.by === 'late') return diagnosisOf('time-limit', [sentence(safeLine(account.reason))]);
  const row = codeRowOf(own?.said ?? account);
  const fullAccount = { ...account, ...own?.said };
  const facts = factsOf(fullAccount, seenMb);
  const sentences = row === undefined ? [unknown(fullAccount)] : [row.sentence, ...(row.more ?? [])];
  const because = row === undefined ? sentences : sentences.flatMap((one) => fill(one, facts) ?? []);
  const again =
    own && `It was started ${own.starts} times and never succeeded; the policy of the run held it.`;
  const advice = row?.advice === undefined ? undefined : fill(row.advice, facts);
  return {
    ...diagnosisOf(row?.cause ?? 'unknown', given(...because, again)),
    advice: advice === undefined ? [] : [advice],
    ...(row?.outlook === undefined ? {} : { outlook: row.outlook }),
    ...(row === undefined ? { said: fullAccount.reason } : {}),
  };
}

export const diagnosisOf = (cause: Cause, because: string[], advice: string[] = []): Diagnosis => ({
  cause,
  because,
  outlook: causeInfo(cause).outlook,
  advice,
});

/** What to do about a diagnosis. Advice about a submit file is only for those who wrote one. */
export function adviceOn(
  { cause, advice, isAllAdvice }: Diagnosis,
  { isOurs, resumes = false }: { isOurs: boolean; resumes?: boolean },
): string[] {
  if (isAllAdvice) return advice;
  const { advice: general, resumed = general, submit } = causeInfo(cause);
  const usual = [resumes ? resumed : general, ...(submit === undefined || isOurs ? [] : [submit])];
  return [...new Set([...advice, ...usual])].filter((one) => one !== '');
}

/** Our own rule that holds a job after an attempt that failed, until the next try. */
function ownRuleDiagnosis(reason: string, kind: FaultKind | undefined): Diagnosis {
  const because = kind === undefined ? reason.trim() : `${reason.trim()} (${kind}): ${faultWords[kind][0]}`;
  const diagnosis = diagnosisOf(kind ?? 'agent-killed', [sentence(because)]);
  return { ...diagnosis, outlook: 'passing', ...(kind === undefined ? {} : { isAllAdvice: true }) };
}

function unknown({ code, subcode, reason }: HoldAccount): string {
  if (code !== undefined && code >= 1000)
    return (
      `It left the slot with code ${code}, which Updraft does not ` +
      `know${isEmpty(reason) ? '.' : `: ${safeLine(reason)}`}`
    );
  const codes = code === undefined ? 'no code' : `code ${code}, subcode ${subcode ?? 0}`;
  return `HTCondor gives ${codes} and ${isEmpty(reason) ? 'no reason.' : `this reason: ${safeLine(reason)}`}`;
}
