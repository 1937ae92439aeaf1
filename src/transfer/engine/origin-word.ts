import type { Located } from '../../federation/located.ts';
import { knowObject, type Known, type KnowOptions } from '../../federation/known-object.ts';
import { Fault } from '../../fault/fault.ts';

/**
 * What the origin says of the object, whatever caches say: asked beside the first request for bytes, so that only
 * who needs it waits for it.
 */
export class OriginWord {
  /** What it has answered so far. */
  known: Known | undefined;
  /** It has answered that there is no such object. */
  isMissing = false;
  readonly #options: KnowOptions;
  readonly #heard: (known: Known) => void;
  readonly #isEager: boolean;
  readonly #done = new AbortController();
  #located: Located | undefined;
  #answer: Promise<Known | undefined> | undefined;

  /** Where hashes will prove the bytes, it is asked only when an answer leaves something open. */
  constructor(
    options: KnowOptions & { signal: AbortSignal; hasHashes: boolean },
    heard: (known: Known) => void,
  ) {
    this.#isEager = !options.hasHashes;
    this.#options = { ...options, signal: AbortSignal.any([options.signal, this.#done.signal]) };
    this.#heard = heard;
  }

  /** Bytes from the origin itself, or from a plain server, come with its word: no need to hurry. */
  ask(located: Located): void {
    this.#located = located;
    this.askAgain();
  }

  /** There may be another version of the object by now. */
  askAgain(): void {
    this.#answer = this.known = undefined;
    if (this.#isEager && this.#located?.servers[0]?.kind === 'cache') void this.answer();
  }

  /** What it says; undefined where it cannot be asked, or has no such object. */
  answer(): Promise<Known | undefined> {
    this.#answer ??= this.#located === undefined ? Promise.resolve(undefined) : this.#know(this.#located);
    return this.#answer;
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
