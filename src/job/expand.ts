import { fillShell, fillText } from './fill-template.ts';
import { plainPath } from './inside.ts';
import type { Job } from './job.ts';
import { jobId } from './layout.ts';
import type { Scalar, Spec } from './spec.ts';

/**
 * The jobs of a run, always in the same order: every combination of the matrix, each `jobs` times, with the
 * parameters filled in. A value stays data in the commands, whatever it holds.
 */
export function expandJobs(spec: Spec): Job[] {
  const { train, run } = spec;
  const copies = Array.from({ length: run.jobs });
  const all = combinations(run.matrix).flatMap((parameters) => copies.map(() => parameters));
  return all.map((parameters, index) => {
    const id = jobId(index);
    const values = { ...parameters, job: id, index };
    const env: [string, string][] = Object.entries(train.env).map(([name, value]) => [
      name,
      fillText(value, values),
    ]);
    return {
      id,
      parameters,
      train: {
        ...train,
        command: fillShell(train.command, values),
        outputs: train.outputs.map((output) => plainPath(fillText(output, values))),
        ...(train.check !== undefined && { check: fillShell(train.check, values) }),
        env: { ...Object.fromEntries(env), ...ownVariables(id, index, parameters) },
      },
    };
  });
}

function ownVariables(id: string, index: number, parameters: Record<string, Scalar>): Record<string, string> {
  const own: Record<string, string> = { UPDRAFT_JOB: id, UPDRAFT_INDEX: String(index) };
  for (const [name, value] of Object.entries(parameters))
    own[`UPDRAFT_PARAM_${name.toUpperCase()}`] = String(value);
  return own;
}

/** Every combination of the matrix's values, the last parameter changing fastest; of an empty matrix, one. */
export function combinations(matrix: Record<string, Scalar[]>): Record<string, Scalar>[] {
  return Object.entries(matrix).reduce<Record<string, Scalar>[]>(
    (made, [name, values]) => made.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
}
