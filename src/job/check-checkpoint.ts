import { valueAt } from './raw-value.ts';
import { problemAt, problemAtKey, type SourceFile, type SpecProblem } from './source-file.ts';
import { parseDuration } from './units.ts';

/** Where the settings of checkpoints and limits contradict each other, each with what to do about it. */
export function checkCheckpoint(source: SourceFile): SpecProblem[] {
  return [...checkAlone(source), ...checkLimits(source)];
}

function checkAlone(source: SourceFile): SpecProblem[] {
  if (valueAt(source.value, ['train', 'checkpoint']) !== undefined) return [];
  return ['checkpoint_keep', 'checkpoint_every'].flatMap((key) =>
    valueAt(source.value, ['train', key]) === undefined
      ? []
      : [problemAtKey(source, ['train', key], 'says nothing without `checkpoint`, the folder it is about')],
  );
}

function checkLimits(source: SourceFile): SpecProblem[] {
  const limit = valueAt(source.value, ['resources', 'time']);
  const seconds = typeof limit === 'string' ? parseDuration(limit) : undefined;
  if (seconds === undefined) return [];
  return ['checkpoint_every', 'quiet_limit'].flatMap((key) => {
    const at = ['train', key];
    const value = valueAt(source.value, at);
    const span = typeof value === 'string' ? parseDuration(value) : undefined;
    if (span === undefined || span < seconds) return [];
    const message = `"${String(value)}" is never reached: an attempt has time = "${String(limit)}"; expected less, or leave it out`;
    return [problemAt(source, at, message)];
  });
}
