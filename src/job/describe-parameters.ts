/** The values of a job's matrix, by name. */
type Parameters = Readonly<Record<string, string | number | boolean>>;

/** `lr=0.1 seed=2`; empty for a job without parameters. */
export const describeParameters = (parameters: Parameters = {}): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/** A job as people read it: `0003 lr=0.1 seed=2`. */
export const jobLabel = (id: string, parameters?: Parameters): string =>
  [id, describeParameters(parameters)].join(' ').trimEnd();
