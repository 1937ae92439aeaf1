import { kinds } from '../fault/kinds.ts';
import { kindOfExit, ownHold } from '../codes/answers.ts';
import type { Diagnosis } from './diagnosis.ts';
import { evictionDiagnosis } from './evictions.ts';
import type { Account } from './account.ts';
import { plainHolds } from './plain-holds.ts';
import { safeLine } from './quote-event.ts';
import { diskDiagnosis, memoryDiagnosis, sizeDiagnosis, timeDiagnosis } from './resource-diagnosis.ts';
import { startDiagnosis } from './start-diagnosis.ts';
import { inputDiagnosis, outputDiagnosis, transferDirection } from './transfer-diagnosis.ts';

type Said = Omit<Account, 'evidence' | 'table'>;

/**
 * What a hold or an eviction comes from: by HTCondor's words where they say it, because codes have changed their
 * meaning, and then by its code. What neither tells is `unknown` and keeps its words: it is not guessed into a class.
 */
export function diagnose(account: Said, seenMb = 0): Diagnosis {
  const { code, subcode, reason } = account;
  const again = code === ownHold ? /^started (\d+) times; the last attempt ended: (.*)$/s.exec(reason) : null;
  if (again !== null) return brakeDiagnosis(account, again[1] ?? '', again[2] ?? '');
  const ended = code === ownHold ? ownEnd(reason, subcode) : undefined;
  if (ended !== undefined) return ended;
  if (code === 32 || code === 33) return sizeDiagnosis(code === 32 ? 'input' : 'output', reason);
  if (code === 46 || code === 47) return timeDiagnosis(code, reason);
  if (isMemory(account)) return memoryDiagnosis(account, seenMb);
  if (isDisk(account)) return diskDiagnosis(account);
  if (code === 6 || /^(?:error from \S+: )?failed to execute/i.test(reason))
    return startDiagnosis(reason, subcode);
  if (code === 35 || code === 45 || /singularity test failed/i.test(reason)) return imageDiagnosis(reason);
  const way = isOwnMatter(code) ? undefined : transferDirection(reason, code);
  if (way !== undefined) return (way === 'input' ? inputDiagnosis : outputDiagnosis)({ reason, subcode });
  if (code !== undefined && code >= 1000) return evictionDiagnosis(code, reason);
  return plainHolds(code, subcode, reason) ?? unknown(account);
}

/** The rule that a run of ours ends endless starts with; its subcode is the code of the last of them. */
function brakeDiagnosis(account: Said, starts: string, reason: string): Diagnosis {
  const inner = diagnose({ ...account, code: account.subcode, subcode: undefined, reason });
  return {
    ...inner,
    because: [...inner.because, `It was started ${starts} times in vain, so the rules of the run held it.`],
  };
}

/** The rule that keeps a job of ours back after an attempt that ended by itself, until it is tried again. */
function ownEnd(reason: string, subcode = 0): Diagnosis | undefined {
  if (!/^the (?:attempt ended with exit code|agent was ended by signal) \d+$/.test(reason.trim()))
    return undefined;
  const kind = kindOfExit(subcode);
  const meaning = kind === undefined ? '' : ` (${kind}): ${kinds[kind].what}`;
  return {
    cause: kind ?? 'signal',
    because: [`${reason.trim().replace(/^t/, 'T')}${meaning === '' ? '.' : meaning}`],
    outlook: 'passing',
    advice: [],
  };
}

/** Holds that people and rules make: whatever their words mention, nothing failed by itself. */
const isOwnMatter = (code: number | undefined): boolean => code === 1 || code === 3 || code === 26;

function isMemory({ code, subcode, reason }: Said): boolean {
  if (isOwnMatter(code) || code === 6) return false;
  if ((code === 34 || code === 21) && subcode === 102) return true;
  return /memory (?:usage|limit) exceeded|memory usage exceeded|over (?:cgroup )?memory limit|too much memory|out of memory/i.test(
    reason,
  );
}

function isDisk({ code, subcode, reason }: Said): boolean {
  if (isOwnMatter(code)) return false;
  if ((code === 34 || code === 21) && subcode === 104) return true;
  return /disk usage exceeded|more disk space than requested/i.test(reason);
}

function imageDiagnosis(reason: string): Diagnosis {
  const words = reason.replace(/^.*?(?:test failed:|container:)\s*/is, '').trim();
  const image = /\b((?:docker|oras|osdf|pelican|library|https?):\/\/[^\s'",]+?)(?::?\s|["',]|$)/.exec(
    reason,
  )?.[1];
  return {
    cause: 'environment-broken',
    because: [
      `The container ${image === undefined ? 'image' : `image ${safeLine(image)}`} could not be used on that machine.`,
      ...(words === '' ? [] : [`The container tool said: ${safeLine(words)}`]),
    ],
    outlook: 'unclear',
    advice: [
      'Check the image’s name and tag, and that the registry gives it to a machine without your login.',
      'Start it once by hand: apptainer exec IMAGE true.',
    ],
  };
}

function unknown({ code, subcode, reason }: Said): Diagnosis {
  const codes = code === undefined ? 'no code' : `code ${code}, subcode ${subcode ?? 0}`;
  const words = /^(?:reason unspecified)?$/i.test(reason.trim())
    ? 'no words'
    : `these words: ${safeLine(reason)}`;
  return {
    cause: 'unknown',
    because: [`HTCondor gives ${codes} and ${words}`],
    outlook: 'unclear',
    advice: [
      'Updraft does not know this reason and does not guess. Read the words above, or ask the staff of the access point.',
    ],
  };
}
