import type { Located } from '../../federation/located.ts';
import { readOriginFacts, type OriginFacts, type OriginOptions } from '../../federation/origin-facts.ts';
import { Fault } from '../../fault/fault.ts';

/**
 * What the origin says of the object, whatever caches say: asked once, as soon as a server's answer leaves something
 * open. A cache that says size and version spares the origin the question.
 */
export class OriginAnswer {
  /** What it has answered so far. */
  known: OriginFacts | undefined;
  /** It has answered that there is no such object. */
  isMissing = false;
  readonly #options: OriginOptions;
  readonly #onAnswer: (known: OriginFacts) => void;
  readonly #done = new AbortController();
  #located: Located | undefined;
  #answer: Promise<OriginFacts | undefined> | undefined;

  /** A stop of the transfer does not stop the question: what has arrived is kept by the answer. */
  constructor(options: Omit<OriginOptions, 'signal'>, onAnswer: (known: OriginFacts) => void) {
    this.#options = { ...options, signal: this.#done.signal };
    this.#onAnswer = onAnswer;
  }

  /** The object has been found. */
  setLocation(located: Located): void {
    this.#located = located;
  }

  /** There may be another version of the object by now. */
  forget(): void {
    this.#answer = this.known = undefined;
  }

  /** What it sends is not what it says: nothing that it says counts any more. */
  distrust(): void {
    this.forget();
    this.#located = undefined;
  }

  /** What it says; undefined where it cannot be asked, or has no such object. */
  answer(): Promise<OriginFacts | undefined> {
    this.#answer ??= this.#located === undefined ? Promise.resolve(undefined) : this.#ask(this.#located);
    return this.#answer;
  }

  /** Whether it says that there is no such object. */
  async saysMissing(): Promise<boolean> {
    await this.answer();
    return this.isMissing;
  }

  /** Nobody needs it any more. */
  close(): void {
    this.#done.abort();
  }

  async #ask(located: Located): Promise<OriginFacts | undefined> {
    try {
      this.known = await readOriginFacts(located, this.#options);
      if (this.known !== undefined) this.#onAnswer(this.known);
      return this.known;
    } catch (error) {
      this.isMissing = error instanceof Fault && error.kind === 'object-missing';
      return undefined;
    }
  }
}
