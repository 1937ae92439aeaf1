import { knownSecretsRemoved, secretsIn, textWithoutSecrets } from '../base/file-without-secrets.ts';
import type { Finding } from '../base/finding.ts';
import { withoutSecrets } from '../base/printable.ts';
import { replacePieces } from '../base/redact.ts';
import type { SubmitFacts } from './submit-facts.ts';

/** Shorter ones, and words, may be anywhere in a sentence: they are removed only beside their names. */
const isUnlikeWords = (secret: string): boolean => secret.length >= 6 && /[^A-Za-z]/.test(secret);
/** What only names a secret. */
const isReference = (value: string): boolean => /^(?:\$|\.{0,2}\/|~|\w+:\/\/)/.test(value);

/** Removes the secrets of texts from a sentence that quotes them, in whole or in part. */
export function hideSecretsOf(texts: readonly string[]): (sentence: string) => string {
  const secrets = new Set([...new Set(texts)].flatMap(secretsIn).filter((one) => !isReference(one)));
  const redact = replacePieces([...secrets].filter(isUnlikeWords));
  const alone = (sentence: string): string =>
    sentence.replaceAll(/`([^`]+)`/g, (quoted, word: string) => (secrets.has(word) ? '`…`' : quoted));
  return (sentence) => withoutSecrets(redact(alone(knownSecretsRemoved(sentence, secrets))));
}

/** Every text of a submit file that a finding may quote, also with its macros replaced. */
export const quotedTexts = ({ submission, wrapper }: SubmitFacts): string[] => [
  ...submission.assignments.map(({ name, value }) => `${name} = ${value}`),
  ...submission.queues.flatMap(({ text, jobs }) => [
    text,
    ...[jobs[0]?.commands, jobs[0]?.attributes, ...jobs.map(({ item }) => item)].flatMap((values = {}) =>
      Object.entries(values).map(([name, value]) => `${name} = ${value}`),
    ),
  ]),
  ...(wrapper === undefined ? [] : [wrapper.text]),
];

/** Findings as they may leave: without the secrets that they quote. */
export const hideInFindings = (findings: readonly Finding[], hide: (sentence: string) => string): Finding[] =>
  findings.map((finding) => ({
    ...finding,
    message: hide(finding.message),
    fix: hide(finding.fix),
    ...(finding.excerpt === undefined ? {} : { excerpt: finding.excerpt.map(textWithoutSecrets) }),
  }));
