import type { Finding } from '../../base/finding.ts';
import { withoutSecrets } from '../../base/printable.ts';

/** Something that was looked at, and what there was to say of it. */
export interface Looked {
  what: string;
  said: string;
}

/** Something that could not be looked at, and why: never left out silently. */
export interface Unchecked {
  what: string;
  why: string;
}

/** What one gatherer brings: facts as far as they could be had, and the rest told. */
export interface Gathered<Facts> {
  facts: Facts;
  looked: Looked[];
  unchecked: Unchecked[];
}

export const notChecked = <Facts>(facts: Facts, what: string, why: string): Gathered<Facts> => ({
  facts,
  looked: [],
  unchecked: [{ what, why }],
});

/** Why something failed, in its own first words. */
export const reasonOf = (error: unknown): string =>
  error instanceof DOMException && error.name === 'TimeoutError'
    ? 'no answer in time'
    : error instanceof Error
      ? (error.message.split('\n', 1)[0] ?? '')
      : String(error);

/** What a check tells. */
export interface Told {
  findings: Finding[];
  looked: Looked[];
  unchecked: Unchecked[];
}

/** The same without tokens that people put into URLs: reports are passed on. */
export const withoutTokens = ({ findings, looked, unchecked }: Told): Told => ({
  findings: findings.map((one) => ({
    ...one,
    message: withoutSecrets(one.message),
    fix: withoutSecrets(one.fix),
  })),
  looked,
  unchecked: unchecked.map(({ what, why }) => ({ what, why: withoutSecrets(why) })),
});
