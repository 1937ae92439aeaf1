import type { Located } from '../../federation/located.ts';
import { knowObject, type Known, type KnowOptions } from '../../federation/known-object.ts';
import { Fault } from '../../fault/fault.ts';

/**
 * What the origin says of the object, whatever caches say: asked once, as soon as a server's answer leaves something
 * open. A cache that says size and version spares the origin the question.
 */
export class OriginWord {
  /** What it has answered so far. */
  known: Known | undefined;
  /** It has answered that there is no such object. */
  isMissing = false;
  readonly #options: KnowOptions;
  readonly #heard: (known: Known) => void;
  readonly #done = new AbortController();
  #located: Located | undefined;
  #answer: Promise<Known | undefined> | undefined;

  /** A stop of the transfer does not stop the question: what has arrived is kept by the answer. */
  constructor(options: Omit<KnowOptions, 'signal'>, heard: (known: Known) => void) {
    this.#options = { ...options, signal: this.#done.signal };
    this.#heard = heard;
  }

  /** The object has been found. */
  at(located: Located): void {
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
  answer(): Promise<Known | undefined> {
    this.#answer ??= this.#located === undefined ? Promise.resolve(undefined) : this.#know(this.#located);
    return this.#answer;
  }

  /** Whether it says that there is no such object. */
  async deniesIt(): Promise<boolean> {
    await this.answer();
    return this.isMissing;
  }

  /** Nobody needs it any more. */
  close(): void {
    this.#done.abort();
  }

  async #know(located: Located): Promise<Known | undefined> {
    try {
      this.known = await knowObject(located, this.#options);
      if (this.known !== undefined) this.#heard(this.known);
      return this.known;
    } catch (error) {
      this.isMissing = error instanceof Fault && error.kind === 'object-missing';
      return undefined;
    }
  }
}
