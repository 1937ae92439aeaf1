import { given, defined } from '@updraft/base';
import {
  knownSecretsRemoved,
  removed,
  replacePieces,
  secretsIn,
  textWithoutSecrets,
  withoutSecrets,
} from '@updraft/base/secrets';
import type { Finding } from '@updraft/base';
import { namelessWords, plainWord } from '../submit/split-arguments.ts';
import type { SubmitFacts } from '../submit/submit-facts.ts';

/** Shorter ones, and words, may be anywhere in a sentence: they are removed only beside their names. */
const isUnlikeWords = (secret: string): boolean => secret.length >= 6 && /[^A-Za-z]/.test(secret);
/** What only names a secret. */
const isReference = (value: string): boolean => /^(?:\$|\.{0,2}\/|~|\w+:\/\/)/.test(value);

/** As `quotedTexts` writes it; a script may begin with `env=…`. */
const environmentText = /^env(?:ironment)? = (.*)$/is;
const environmentLine = /^(\s*env(?:ironment)?\s*=)(.*)$/is;

const secretsOf = (texts: readonly string[]): Set<string> =>
  new Set(
    [...new Set(texts)]
      .flatMap((text) => [...secretsIn(text), ...namelessWords(environmentText.exec(text)?.[1] ?? '')])
      .filter((one) => !isReference(one)),
  );

/** A line of a submit file as it may be shown. */
export const lineWithoutSecrets = (line: string): string =>
  textWithoutSecrets(
    line.replace(environmentLine, (_, start: string, value: string) => {
      const words = new Set(namelessWords(value));
      return start + value.replaceAll(plainWord, (word) => (words.has(word) ? removed : word));
    }),
  );

/** Removes the secrets of texts from a sentence that quotes them, in whole or in part. */
export function hideSecretsOf(texts: readonly string[]): (sentence: string) => string {
  const secrets = secretsOf(texts);
  const redact = replacePieces([...secrets].filter(isUnlikeWords));
  const alone = (sentence: string): string =>
    sentence.replaceAll(/([`'])([^`']+)\1/g, (quoted, mark: string, word: string) =>
      secrets.has(word) ? `${mark}…${mark}` : quoted,
    );
  return (sentence) => withoutSecrets(redact(alone(knownSecretsRemoved(sentence, secrets))));
}

/** Every text of a submit file that a finding may quote, also with its macros replaced. */
export const quotedTexts = ({ submission, wrapper }: SubmitFacts): string[] =>
  given(
    ...submission.assignments.map(({ name, value }) => `${name} = ${value}`),
    ...submission.queues.flatMap(({ text, jobs }) => [
      text,
      ...[jobs[0]?.commands, jobs[0]?.attributes, ...jobs.map(({ item }) => item)].flatMap((values = {}) =>
        Object.entries(values).map(([name, value]) => `${name} = ${value}`),
      ),
    ]),
    wrapper !== undefined && wrapper.text,
  );

/** Facts without the secrets that macros and the items of queue statements bring into any value. */
export function withoutMacroSecrets(facts: SubmitFacts): SubmitFacts {
  const { assignments, queues } = facts.submission;
  const macros = assignments.filter(({ command, attribute }) => (command ?? attribute) === undefined);
  const items = queues.flatMap(({ jobs }) => jobs.flatMap(({ item }) => Object.entries(item)));
  const named = [...macros.map(({ name, value }) => [name, value] as const), ...items];
  const secrets = secretsOf(named.map(([name, value]) => `${name} = ${value}`));
  if (secrets.size === 0) return facts;
  const redact = replacePieces([...secrets].filter(isUnlikeWords), removed);
  const hide = (one: string): string =>
    secrets.has(one) ? removed : redact(knownSecretsRemoved(one, secrets));
  const clean = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (_, one: unknown) => (typeof one === 'string' ? hide(one) : one)) as T;
  const cleaned = queues.map((queue) => ({
    ...queue,
    jobs: clean(queue.jobs),
    ...(queue.template && { template: clean(queue.template) }),
  }));
  return { ...facts, submission: { ...facts.submission, queues: cleaned } };
}

/** Findings as they may leave: without the secrets that they quote. */
export const hideInFindings = (findings: readonly Finding[], hide: (sentence: string) => string): Finding[] =>
  findings.map((finding) => ({
    ...finding,
    message: hide(finding.message),
    fix: hide(finding.fix),
    ...(finding.about && { about: [hide(finding.about[0]), ...finding.about.slice(1)] as const }),
    ...defined({ excerpt: finding.excerpt && finding.excerpt.map(textWithoutSecrets) }),
  }));
