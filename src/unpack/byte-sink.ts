/** Nothing when the work is done already, otherwise the promise of its end. */
export type Waiting = void | Promise<void>;

/** Takes bytes piece by piece. A piece may be overwritten by its owner once `write` is done with it. */
export interface ByteSink {
  write(piece: Buffer): Waiting;
  /** No more bytes come; throws a Fault if more were needed. */
  end(): Waiting;
  /** Lets go of everything at once, without a word. */
  destroy(): void;
}

/** Goes on at once where nothing has to be waited for, so that the common path makes no promises. */
export function andThen(first: Waiting, next: () => Waiting): Waiting {
  return first === undefined ? next() : first.then(next);
}
