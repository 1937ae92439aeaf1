/** How far a training is, as it tells it itself. */
export interface Position {
  epoch?: number;
  step?: number;
}

/** Below 0 when `a` is behind `b`, above when it is ahead; undefined when they tell nothing that can be compared. */
export function comparePositions(a: Position, b: Position): number | undefined {
  const epochs = difference(a.epoch, b.epoch);
  const steps = difference(a.step, b.step);
  // Many trainings count their steps anew in each epoch.
  return epochs === undefined || epochs === 0 ? (steps ?? epochs) : epochs;
}

const difference = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a - b;

/** The part of something that is a position. */
export function positionIn({ epoch, step }: Position): Position {
  return { ...(epoch === undefined ? {} : { epoch }), ...(step === undefined ? {} : { step }) };
}
