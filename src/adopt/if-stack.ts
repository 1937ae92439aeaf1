interface Level {
  /** The lines of this branch count. */
  taken: boolean;
  /** Some branch of this `if` was taken already. */
  settled: boolean;
  inElse: boolean;
}

/** Which of the nested `if … elif … else … endif` branches is being read. */
export class IfStack {
  readonly #levels: Level[] = [];

  get depth(): number {
    return this.#levels.length;
  }

  /** Whether the current line counts. */
  get taken(): boolean {
    return this.#levels.every((level) => level.taken);
  }

  /** Takes one of the four words; answers what is wrong with its position, if anything. */
  step(word: string, test: () => boolean): string | undefined {
    if (word === 'if') {
      // Where the lines do not count, the condition is not looked at either.
      const taken = this.taken && test();
      this.#levels.push({ taken, settled: taken, inElse: false });
      return undefined;
    }
    const level = this.#levels.at(-1);
    if (level === undefined) return `\`${word}\` without \`if\``;
    if (word === 'endif') this.#levels.pop();
    else if (level.inElse) return `\`${word}\` after \`else\``;
    else this.#turn(level, word, test);
    return undefined;
  }

  #turn(level: Level, word: string, test: () => boolean): void {
    const outside = this.#levels.slice(0, -1).every((outer) => outer.taken);
    level.taken = outside && !level.settled && (word === 'else' || test());
    level.settled ||= level.taken;
    level.inElse = word === 'else';
  }
}
