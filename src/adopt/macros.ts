import type { Place } from '../base/finding.ts';

export interface Macro {
  /** As written. */
  name: string;
  value: string;
  place: Place;
}

/** The names of a submit description with their unexpanded values; names are the same in any case. */
export class Macros {
  readonly #byName = new Map<string, Macro>();

  set(name: string, value: string, place: Place): void {
    this.#byName.set(name.toLowerCase(), { name, value, place });
  }

  get(name: string): Macro | undefined {
    return this.#byName.get(name.toLowerCase());
  }

  all(): Iterable<Macro> {
    return this.#byName.values();
  }
}

/** What an expansion may see: macros by name, the submitter's environment and folder, and a note of what was looked up. */
export interface Scope {
  lookup(name: string): string | undefined;
  env(name: string): string | undefined;
  cwd: string;
  /** Told once for each `$RANDOM_…()`: its value here is only one of those HTCondor may choose. */
  chosen(): void;
}
