/** Macros that refer to themselves, directly or through others, or grow without end; the message says which. */
export class CircularMacro extends Error {}

const maxText = 1 << 20;
const maxDepth = 50;

/** What the expansions of one file may cost together, in characters read. */
export class ExpansionBudget {
  #left = 50_000_000;
  #depth = 0;

  /** Throws when the text is too long for a value, or the budget is spent. */
  spend(text: string): void {
    if (text.length > maxText)
      throw new CircularMacro(`the macros of \`${clipText(text)}\` grow without end`);
    this.spendAll(text);
  }

  /** `extra` is what work on the text costs besides reading it. */
  spendAll(text: string, extra = 500): void {
    this.#left -= text.length + extra;
    if (this.#left < 0)
      throw new CircularMacro(`reading took too long: the macros of \`${clipText(text)}\` may never end`);
  }

  /** A function's argument is expanded inside the expansion of its call. */
  nested<T>(text: string, expand: () => T): T {
    if (++this.#depth > maxDepth) throw refersToItself(text);
    try {
      return expand();
    } finally {
      this.#depth--;
    }
  }
}

export const refersToItself = (text: string): CircularMacro =>
  new CircularMacro(`\`${clipText(text)}\` refers to itself`);

const clipText = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
