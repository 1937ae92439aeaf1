import type { Scalar } from './spec.ts';

/** `lr=0.1 seed=2`; empty for a job without parameters. */
export const describeParameters = (parameters: Readonly<Record<string, Scalar>> = {}): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/** A job as people read it: `0003 lr=0.1 seed=2`. */
export const jobLabel = (id: string, parameters?: Readonly<Record<string, Scalar>>): string =>
  [id, describeParameters(parameters)].join(' ').trimEnd();
