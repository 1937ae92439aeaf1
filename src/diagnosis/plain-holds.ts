import type { Diagnosis } from './diagnosis.ts';
import { safeLine } from './quote-event.ts';

type Plain = Omit<Diagnosis, 'because'> & { because: string };

const site: Plain = {
  cause: 'machine-broken',
  because: 'The machine could not prepare the job',
  outlook: 'passing',
  advice: ['Another machine may do; if one site stands out, keep away from it.'],
};
const unreadable: Plain = {
  cause: 'file-unusable',
  because: 'Standard input, output or error could not be opened',
  outlook: 'lasting',
  advice: ['Check that the folder exists on the access point and is yours to write, and that there is room.'],
};
const rule: Plain = {
  cause: 'pool-policy',
  because: 'A rule of the access point held it',
  outlook: 'unclear',
  advice: ['Read its words; the staff of the access point can say what it wants.'],
};
const connection: Plain = {
  cause: 'transfer-failed',
  because: 'The connection that moves its files broke',
  outlook: 'passing',
  advice: ['Another try may do.'],
};

/** Hold codes whose meaning needs no figures. */
const holds: Partial<Record<number, Plain>> = {
  1: {
    cause: 'user',
    because: 'Somebody held it by hand',
    outlook: 'unclear',
    advice: ['Ask whoever held it what they are waiting for.'],
  },
  3: {
    cause: 'job-policy',
    because: 'A rule of the job itself (periodic_hold or on_exit_hold) held it',
    outlook: 'unclear',
    advice: ['The rule stands in the submit file; mend what it tests for.'],
  },
  4: { ...rule, cause: 'job-policy', because: 'Its credential is bad', outlook: 'lasting' },
  5: {
    ...rule,
    cause: 'job-policy',
    because: 'A rule of the job could not be evaluated',
    outlook: 'lasting',
    advice: ['Mend the expression: an attribute it names is not there.'],
  },
  7: unreadable,
  8: unreadable,
  9: unreadable,
  10: unreadable,
  11: connection,
  14: { ...unreadable, because: 'The job’s folder on the access point cannot be used' },
  15: {
    cause: 'user',
    because: 'It was submitted on hold (hold = true)',
    outlook: 'unclear',
    advice: ['Nothing is wrong: it waits until it is let go.'],
  },
  16: {
    cause: 'staging',
    because: 'Its input is being copied to the access point',
    outlook: 'passing',
    advice: ['Wait. If it lasts, the copying broke off: submit it again.'],
  },
  18: connection,
  19: site,
  22: { ...unreadable, because: 'The event log cannot be written' },
  23: { ...site, because: 'The machine has no account for the job' },
  26: rule,
  27: { ...rule, because: 'A rule of the access point could not be evaluated' },
  36: {
    cause: 'checkpoint-failed',
    because: 'A checkpoint could not be saved',
    outlook: 'passing',
    advice: ['Check that the files of transfer_checkpoint_files are written and the destination takes them.'],
  },
  48: { ...site, because: 'The access point could not prepare the job' },
  49: { ...site, because: 'The machine has no group for the job' },
  21: {
    cause: 'site-policy',
    because: 'A rule of the machine’s site held it',
    outlook: 'unclear',
    advice: ['Read its words; another site may have no such rule.'],
  },
};

/** A hold whose code says it all, together with HTCondor's words; undefined for a code without a meaning here. */
export function plainHolds(
  code: number | undefined,
  subcode: number | undefined,
  reason: string,
): Diagnosis | undefined {
  const plain = code === undefined ? undefined : holds[code];
  if (plain === undefined) return undefined;
  const words = /^(?:reason unspecified)?$/i.test(reason.trim()) ? '' : `: ${safeLine(reason)}`;
  const ending = /[.!?]$/.test(words) ? '' : '.';
  const extra = subcode === undefined || subcode === 0 ? [] : [`Its subcode is ${subcode}.`];
  return { ...plain, because: [`${plain.because}${words}${ending}`, ...extra] };
}
