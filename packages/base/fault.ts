/** Where another try can succeed: on the same machine, only on another one, with more of what ran out, or nowhere. */
export type RetryRule = 'same' | 'elsewhere' | 'more' | 'never';

export interface KindInfo {
  /** Exit code of both CLI and agent; 85 is reserved for checkpoints. */
  exit: number;
  retry: RetryRule;
}

interface FaultOptions {
  /** What the user can do about it, as a sentence or a command. */
  fix?: string | undefined;
  /** The object, file, host or job it is about. */
  about?: string | undefined;
  /** How long the server asked us to wait before the next try. */
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

export const kind = (exit: number, retry: RetryRule): KindInfo => ({ exit, retry });

/** What any package may find wrong. */
export const baseFaults = {
  usage: kind(2, 'never'),
  'file-invalid': kind(3, 'never'),
  interrupted: kind(5, 'same'),
  'data-wrong': kind(102, 'elsewhere'),
  'disk-full': kind(107, 'more'),
  'scratch-unusable': kind(108, 'elsewhere'),
  internal: kind(119, 'never'),
};

/**
 * Something that went wrong, by kind. Inside a process it is thrown as a Fault; between processes it is a journal entry
 * with the same fields. There is one class; each package sees it with its own closed set of kinds (`FaultClass`).
 */
export class Fault<Kind extends string = string> extends Error {
  readonly kind: Kind;
  readonly fix: string | undefined;
  readonly about: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: Kind, message: string, { cause, fix, about, retryAfterSeconds }: FaultOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Fault';
    this.kind = kind;
    this.fix = fix;
    this.about = about;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The class as a package with these kinds sees it. */
export interface FaultClass<Kind extends string> {
  new (kind: Kind, message: string, options?: FaultOptions): Fault<Kind>;
  readonly prototype: Fault<Kind>;
}

/** Anything thrown, as a Fault: what is not one already is a bug, and of kind `internal`. */
export function asFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown as Fault;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Fault('internal', message, { cause: thrown });
}
