/** Environment variables, passed in by a main; nothing else reads the process. */
export type Env = Readonly<Record<string, string | undefined>>;
