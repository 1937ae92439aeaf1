import { kinds, type FaultKind, type KindInfo } from './kinds.ts';

interface FaultOptions {
  /** What the user can do about it, as a sentence or a command. */
  fix?: string | undefined;
  /** The object, file, host or job it is about. */
  about?: string | undefined;
  /** How long the server asked us to wait before the next try. */
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/**
 * Something that went wrong, by kind. Inside a process it is thrown as a Fault; between processes it is a journal entry
 * with the same fields.
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

/** Anything thrown, as a Fault: what is not one already is a bug, and of kind `internal`. */
export function asFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Fault('internal', message, { cause: thrown });
}
