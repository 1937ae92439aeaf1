/** The values of a job's matrix, by name. */
export type Parameters = Readonly<Record<string, string | number | boolean>>;

/** `lr=0.1 seed=2`; empty for a job without parameters. */
export const describeParameters = (parameters: Parameters = {}): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/** A longer value, such as a URL or a path, would hide the others in a name. */
export const isShortValue = (value: string | number | boolean): boolean => String(value).length <= 16;

/** A job as people read it: `0003 lr=0.1 seed=2`, without values that are long or empty. */
export function jobLabel(id: string, parameters: Parameters = {}): string {
  const named = Object.entries(parameters).filter(([, value]) => value !== '' && isShortValue(value));
  return [id, describeParameters(Object.fromEntries(named))].join(' ').trimEnd();
}
