/** The words after `updraft` in an example, without what the shell does around it. */
export function exampleWords(line: string): string[] {
  const [, own = ''] = /updraft (.*?)(?: [|>].*|\)")?$/.exec(line) ?? [];
  return [...own.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([word, a, b]) => a ?? b ?? word);
}
