import type { Part } from './template.ts';

/** How the shell reads what stands at a placeholder. `unclear`: no quoting is proven safe there. */
export type ShellContext = 'none' | 'single' | 'double' | 'unclear';

interface State {
  context: ShellContext;
  escaped: boolean;
  comment: boolean;
}

/** The shell's state at every part of a command: what a placeholder must be quoted for. */
export function shellContexts(parts: readonly Part[]): ShellContext[] {
  const state: State = { context: 'none', escaped: false, comment: false };
  let before = '\n';
  return parts.map((part) => {
    const context = state.escaped || state.comment ? 'unclear' : state.context;
    const text = 'literal' in part ? part.literal : 'x';
    for (let at = 0; at < text.length && state.context !== 'unclear'; at++)
      at += step(state, text.slice(at), at === 0 ? before : text.charAt(at - 1));
    before = text.at(-1) ?? before;
    return context;
  });
}

/** Takes one character into account and answers how many more of them it has consumed. */
function step(state: State, rest: string, before: string): number {
  const char = rest.charAt(0);
  if (state.comment) {
    state.comment = char !== '\n';
  } else if (state.escaped) {
    state.escaped = false;
  } else if (state.context === 'single') {
    if (char === "'") state.context = 'none';
  } else if (cannotFollow(state.context, rest)) {
    state.context = 'unclear';
  } else if (rest.startsWith('${')) {
    return rest.indexOf('}');
  } else if (char === '\\') {
    state.escaped = true;
  } else if (char === '"') {
    state.context = state.context === 'double' ? 'none' : 'double';
  } else if (state.context === 'none') {
    if (char === "'") state.context = 'single';
    if (char === '#' && /[\s;&|()]/.test(before)) state.comment = true;
  }
  return 0;
}

/** Constructs with quoting rules of their own: here-documents, arithmetic, substitution inside quotes. */
function cannotFollow(context: ShellContext, rest: string): boolean {
  if (/^(`|\$\(\(|\$\{[^{}]*["'`\\$])/.test(rest) || (rest.startsWith('${') && !rest.includes('}')))
    return true;
  return context === 'double' ? rest.startsWith('$(') : /^(<<|\$'|\(\()/.test(rest);
}
