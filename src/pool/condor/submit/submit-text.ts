import { Fault } from '../../../fault/fault.ts';

/** A value of a submit description in which `$(…)` and `$$(…)` stand for themselves. */
export function literal(text: string): string {
  if (/[\0\n\r]/.test(text))
    throw new Fault('file-invalid', `HTCondor cannot take a line break here: ${JSON.stringify(text)}`, {
      fix: 'take it out, or write it in a file that is sent with the job',
    });
  // Macros are `$(X)`, functions `$F(X)`; `$$(X)` is looked at again when the job is matched and must be left for then.
  return text.replace(/(\$+)(\w*\()/g, (_, dollars: string, rest: string) =>
    dollars.length === 1 ? `$(DOLLAR)${rest}` : `${dollars.slice(2)}$$(DOLLARDOLLAR)${rest}`,
  );
}

/** A ClassAd string, for attributes of the job; a backslash stands for itself there, except before a quote. */
export const adString = (text: string): string => `"${literal(text.replaceAll('"', String.raw`\"`))}"`;

/** The value of `arguments`, whatever the words hold. */
export const argumentsValue = (words: readonly string[]): string => `"${words.map(quoted).join(' ')}"`;

/** The value of `environment`. */
export const environmentValue = (variables: Record<string, string>): string =>
  argumentsValue(Object.entries(variables).map(([name, value]) => `${name}=${value}`));

const quoted = (word: string): string => {
  const doubled = literal(word).replaceAll('"', '""');
  return /^[^\s']+$/.test(word) ? doubled : `'${doubled.replaceAll("'", "''")}'`;
};
