import type { Cause, Outlook } from '../codes/causes.ts';

/** What an account of an end comes from. */
export interface Diagnosis {
  cause: Cause;
  /** In sentences, with figures; the first says why. */
  because: string[];
  /** Whether the same thing tried again will end the same way. */
  outlook: Outlook;
  /** What anybody could do. */
  advice: string[];
  /** What the author of a submit file could do there. */
  submitAdvice?: string[];
}
