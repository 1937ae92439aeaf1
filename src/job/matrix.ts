import type { Scalar } from './spec.ts';

/** Every combination of the matrix's values, the last parameter changing fastest; of an empty matrix, one. */
export function combinations(matrix: Record<string, Scalar[]>): Record<string, Scalar>[] {
  return Object.entries(matrix).reduce<Record<string, Scalar>[]>(
    (made, [name, values]) => made.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
}
