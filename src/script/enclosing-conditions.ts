import type { Token } from './python-tokens.ts';

interface Block {
  indent: number;
  /** Undefined: what is inside always runs, once its function is called. */
  condition?: string;
  isFunction: boolean;
}

const conditional = /^(if|elif|else|except|case)$/;
const opening = /^(if|elif|else|except|case|def|class|for|while|with|try|finally|match|async)$/;
const longestShown = 60;

/** The innermost condition under which each line runs, by its number; lines that always run are absent. */
export function enclosingConditions(source: string, tokens: readonly Token[]): Map<number, string> {
  const open: Block[] = [];
  const found = new Map<number, string>();
  let first = 0;
  for (const [at, { kind }] of tokens.entries()) {
    if (kind !== 'newline' && at < tokens.length - 1) continue;
    const start = tokens
      .slice(first, at + 1)
      .find((token) => token.kind !== 'comment' && token.kind !== 'newline');
    const last = tokens[at];
    first = at + 1;
    if (start === undefined || last === undefined) continue;
    const indent = start.column;
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const inner = open.slice(open.findLastIndex(({ isFunction }) => isFunction) + 1);
    const condition = inner.findLast((block) => block.condition !== undefined)?.condition;
    if (condition !== undefined)
      for (let line = start.line; line <= last.line; line++) found.set(line, condition);
    if (start.kind === 'name' && opening.test(start.text)) open.push(blockOf(source, start, last, indent));
  }
  return found;
}

function blockOf(source: string, start: Token, last: Token, indent: number): Block {
  const text = source.slice(start.start, Math.min(last.start, start.start + 300));
  const head = text.replace(/:\s*(#.*)?$/s, '').replaceAll(/\s+/g, ' ');
  const isMain = /__name__/.test(head);
  return {
    indent,
    ...(conditional.test(start.text) && !isMain && { condition: head.slice(0, longestShown) }),
    isFunction: /^(def|class|async)$/.test(start.text),
  };
}
