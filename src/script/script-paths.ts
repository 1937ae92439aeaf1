import type { Syntax } from './python-syntax.ts';

/** A path of one machine in a string literal. */
export interface ScriptPath {
  text: string;
  line: number;
}

/** A path with at least one named part; not a division sign, a pattern or a switch of Windows. */
const machinePath = /^(~[\w-]*(\/[\w.@ {}+-]+)*\/?|(\/[\w.@ {}+-]*[\w@}][\w.@ {}+-]*)+\/?)$/;
/** Files that every Linux has, and pieces of URLs. */
const everywhere = /^\/(dev|proc|sys|bin|usr\/bin)(\/|$)/;
/** Calls whose text is compared or matched, not opened. */
const comparing =
  /(^|\.)(startswith|endswith|split|rsplit|strip|replace|find|index|route|get|post|sub|match|compile|count)$/;

/** Absolute paths and those below `~` that stand at the start of a string. */
export function scriptPaths({ tokens, callAt }: Syntax): ScriptPath[] {
  const open: number[] = [];
  return tokens.flatMap(({ kind, text, line, quote = '', prefix = '' }, at) => {
    if (kind === 'op' && '([{'.includes(text)) open.push(at);
    if (kind === 'op' && ')]}'.includes(text)) open.pop();
    if (kind !== 'string' || quote.length === 3 || prefix.includes('b') || text.length > 300) return [];
    if (!machinePath.test(text) || text === '~' || everywhere.test(text)) return [];
    const before = tokens[at - 1]?.text ?? '';
    // `folder + "/name"` is not absolute; a comparison opens nothing.
    if (/^(\+|==|!=|in)$/.test(before) || tokens[at - 1]?.kind === 'string') return [];
    const call = callAt.get(open.at(-1) ?? -1);
    return call !== undefined && comparing.test(call.name) ? [] : [{ text, line }];
  });
}
