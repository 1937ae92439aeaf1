/** Finds the moment at which a training's first epoch is over, from what it tells of its progress. */
export class FirstEpoch {
  #first: number | undefined;
  #isOver = false;

  /** True when the epoch told is the first one after that with which the training began. */
  hear(epoch: number | undefined): boolean {
    if (epoch === undefined || !Number.isFinite(epoch) || this.#isOver) return false;
    // Some tell parts of epochs: 0.25, 0.5 …
    const whole = Math.floor(epoch);
    this.#first ??= whole;
    this.#isOver = whole > this.#first;
    return this.#isOver;
  }

  /** Whether it has begun as far as one can tell, and is not over. */
  get isOpen(): boolean {
    return this.#first !== undefined && !this.#isOver;
  }
}
