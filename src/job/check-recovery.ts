import { counted, parseDuration, parseSize } from '@updraft/base';
import type { Matrix } from './matrix.ts';
import { problemAt, problemAtKey, type SourceFile, type SpecProblem, valueAt } from './source-file.ts';

/** Where `[recovery]` contradicts itself or the rest of the file. */
export function checkRecovery(source: SourceFile, matrix: Matrix): SpecProblem[] {
  return [
    ...checkMax(source, 'memory'),
    ...checkMax(source, 'disk'),
    ...checkGiveUp(source),
    ...checkFailedJobs(source, matrix),
    ...checkSingle(source),
  ];
}

/** A problem if the value at `at` is less than the one at `other`. */
function lessThan(
  source: SourceFile,
  at: string[],
  other: string[],
  parse: (text: string) => number | undefined,
  messageOf: (value: string, other: string) => string,
): SpecProblem[] {
  const [text, min] = [valueAt(source.value, at), valueAt(source.value, other)];
  if (typeof text !== 'string' || typeof min !== 'string') return [];
  // The schema reports values that cannot be parsed.
  const isLess = (parse(text) ?? Infinity) < (parse(min) ?? -Infinity);
  return isLess ? [problemAt(source, at, messageOf(text, min))] : [];
}

const checkMax = (source: SourceFile, what: 'memory' | 'disk'): SpecProblem[] =>
  lessThan(
    source,
    ['recovery', `${what}_max`],
    ['resources', what],
    parseSize,
    (max, asked) =>
      `"${max}" is less than ${what} = "${asked}" of the first attempt; expected at least that much`,
  );

const checkGiveUp = (source: SourceFile): SpecProblem[] =>
  lessThan(
    source,
    ['recovery', 'give_up_after'],
    ['resources', 'time'],
    parseDuration,
    (giveUp, time) =>
      `"${giveUp}" is shorter than time = "${time}" of a single attempt; expected at least that long`,
  );

function checkFailedJobs(source: SourceFile, matrix: Matrix): SpecProblem[] {
  const at = ['recovery', 'failed_jobs'];
  const max = valueAt(source.value, at);
  const each = valueAt(source.value, ['run', 'jobs']) ?? 1;
  const repeat = valueAt(source.value, ['run', 'repeat']) ?? 1;
  if (typeof max !== 'number' || typeof each !== 'number' || typeof repeat !== 'number') return [];
  const jobs = Object.values(matrix).reduce((product, values) => product * values.length, each * repeat);
  if (max <= jobs) return [];
  const message = `${max} can never be reached: the run has ${counted(jobs, 'job')}; expected ${jobs} or fewer, or remove it`;
  return [problemAt(source, at, message)];
}

/** With a single attempt there is nothing to recover with. */
function checkSingle(source: SourceFile): SpecProblem[] {
  if (valueAt(source.value, ['run', 'attempts']) !== 1) return [];
  return ['avoid', 'memory_max', 'disk_max', 'give_up_after'].flatMap((key) => {
    const at = ['recovery', key];
    const value = valueAt(source.value, at);
    if (value === undefined || value === 'none') return [];
    const message =
      'applies to later attempts, and run.attempts = 1 allows none; set attempts to 2 or more, or remove it';
    return [problemAt(source, at, message)];
  });
}

/** Where the settings of checkpoints and limits contradict each other. */
export function checkCheckpoint(source: SourceFile): SpecProblem[] {
  return [...checkAlone(source), ...checkLimits(source)];
}

function checkAlone(source: SourceFile): SpecProblem[] {
  if (valueAt(source.value, ['train', 'checkpoint']) !== undefined) return [];
  return ['checkpoint_keep', 'checkpoint_every'].flatMap((key) =>
    valueAt(source.value, ['train', key]) === undefined
      ? []
      : [
          problemAtKey(
            source,
            ['train', key],
            'has no effect without `checkpoint`, the folder it applies to',
          ),
        ],
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
    const message = `"${String(value)}" is never reached: an attempt has time = "${String(limit)}"; expected less, or remove it`;
    return [problemAt(source, at, message)];
  });
}
