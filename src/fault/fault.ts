import { kinds, type FaultKind, type KindInfo } from './kinds.ts';

interface FaultOptions {
  /** What the user can do about it, as a sentence or a command. */
  fix?: string | undefined;
  /** The object, file, host or job it is about. */
  about?: string | undefined;
  /** Seconds the other side asked us to wait before trying again. */
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/**
 * Something that went wrong, by kind. Inside a process a failure is a thrown Fault; between processes it is
 * the journal entry made of the same fields.
 */
export class Fault extends Error {
  readonly kind: FaultKind;
  readonly fix: string | undefined;
  readonly about: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: FaultKind, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Fault';
    this.kind = kind;
    this.fix = options.fix;
    this.about = options.about;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get info(): KindInfo {
    return kinds[this.kind];
  }
}

/** Anything thrown, as a Fault: what we did not foresee is our own mistake and says so. */
export function asFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Fault('internal', message, { cause: thrown });
}
