/** A text cut at its `{name}` placeholders. */
export type Part = { literal: string } | { name: string };

/** Stands for every job beside the run's own parameters. */
export const builtinNames = ['job', 'index'] as const;

export const isBuiltin = (name: string): boolean => (builtinNames as readonly string[]).includes(name);

const piece = /(\$\{[^{}]*\}|[^{}$]+|\$)|(\{\{|\}\})|\{([A-Za-z_]\w*)\}|[{}]/g;

/**
 * Cuts a text at `{name}`; `{{` and `}}` stand for braces, and the shell's own `${NAME}` stays as it is. A brace
 * that is none of these is a problem rather than a guess.
 */
export function parseTemplate(text: string): { parts: Part[]; problem?: string } {
  const parts: Part[] = [];
  let literal = '';
  for (const [whole, plain, doubled, name] of text.matchAll(piece)) {
    if (name !== undefined) {
      parts.push({ literal }, { name });
      literal = '';
    } else if (plain !== undefined || doubled !== undefined) {
      literal += plain ?? whole.charAt(0);
    } else {
      const problem = `a lone "${whole}"; write "${whole}${whole}" for a brace, {name} for a parameter`;
      return { parts, problem };
    }
  }
  return { parts: [...parts, { literal }] };
}
