import type { Located } from '../../federation/located.ts';
import { readOriginFacts, type OriginFacts, type OriginOptions } from '../../federation/stat-object.ts';
import { Fault } from '../../fault.ts';

/**
 * What the origin says about the object, whatever caches say: asked once, as soon as a server's answer leaves something
 * open. If a cache gives size and version, the origin is not asked.
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

  /** Not aborted with the transfer: the answer is needed to keep what has arrived. */
  constructor(options: Omit<OriginOptions, 'signal'>, onAnswer: (known: OriginFacts) => void) {
    this.#options = { ...options, signal: this.#done.signal };
    this.#onAnswer = onAnswer;
  }

  /** The object has been located. */
  setLocation(located: Located): void {
    this.#located = located;
  }

  /** There may be a new version of the object by now. */
  forget(): void {
    this.#answer = this.known = undefined;
  }

  /** A server failed: if the origin has a new version by now, the next answer says so. */
  refresh(): void {
    this.#answer = undefined;
  }

  /** The origin's data contradicts its own answer, so that nothing it says counts from now on. */
  distrust(): void {
    this.forget();
    this.#located = undefined;
  }

  /** The origin's answer; undefined if it cannot be asked or has no such object. */
  answer(): Promise<OriginFacts | undefined> {
    this.#answer ??= this.#located === undefined ? Promise.resolve(undefined) : this.#ask(this.#located);
    return this.#answer;
  }

  /** Whether it says that there is no such object. */
  async saysMissing(): Promise<boolean> {
    await this.answer();
    return this.isMissing;
  }

  /** Stops asking. */
  close(): void {
    this.#done.abort();
  }

  async #ask(located: Located): Promise<OriginFacts | undefined> {
    try {
      // An origin that has fallen silent is not contradicted.
      this.known = (await readOriginFacts(located, this.#options)) ?? this.known;
      if (this.known !== undefined) this.#onAnswer(this.known);
      return this.known;
    } catch (error) {
      this.isMissing = error instanceof Fault && error.kind === 'object-missing';
      return undefined;
    }
  }
}
