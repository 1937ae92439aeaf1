/** The help of a command, besides its arguments and options. */
export interface CommandHelp {
  what: string;
  /** The page of `docs/` about it, besides its section in `docs/commands.md`. */
  page?: string;
  examples: readonly (readonly [command: string, what: string])[];
}
