import { formatDuration } from '../../job/units.ts';
import { type CodeFacts, durationClasses, type PlanFacts } from '../facts.ts';
import type { RuleResult, Rule } from '../../base/finding.ts';
import { mentions } from '../code/code.ts';

/** Losing a longer attempt is expensive. */
const longSeconds = 2 * 3600;

export const durationRule: Rule<PlanFacts> = {
  name: 'duration',
  level: 'error',
  about: 'The job may take longer than the longest class of the pool allows: it is held with code 46 or 47.',
  check: tooLong,
};

/** Rules about running time and checkpoints. */
export const timeRules: Rule<PlanFacts & CodeFacts>[] = [
  durationRule,
  {
    name: 'no-time',
    level: 'warning',
    about:
      'The pool limits the running time by class, and without `time` in the job file the shortest class applies.',
    check: ({ plan, limits, where }) => {
      const { gpus, timeSeconds } = plan.spec.resources;
      const [first, ...longer] = durationClasses(limits ?? { durations: [] }, gpus);
      if (first === undefined || timeSeconds !== undefined) return [];
      const others = longer.map(({ name, seconds }) => `"${name}" up to ${formatDuration(seconds)}`);
      return {
        message: `no \`time\`: ${limits?.title ?? ''} uses the class "${first.name}", for jobs up to ${formatDuration(first.seconds)}${others.length === 0 ? '' : ` (there is also ${others.join(', ')})`}`,
        fix: 'set time = "…" in [resources] to what an attempt needs, with a margin',
        place: where('resources', 'time'),
      };
    },
  },
  {
    name: 'no-checkpoint',
    level: 'warning',
    about: 'A long job keeps no checkpoint: after every eviction it starts from the beginning.',
    check: ({ plan, where }) => {
      const { timeSeconds = 0 } = plan.spec.resources;
      if (plan.spec.train.checkpoint !== undefined || timeSeconds <= longSeconds) return [];
      return {
        message: `an attempt may take ${formatDuration(timeSeconds)} without \`checkpoint\`: each eviction or time limit loses all of it`,
        fix: 'set checkpoint = "checkpoints" in [train], save into that folder and resume from it',
        place: where('train', 'checkpoint'),
      };
    },
  },
  {
    name: 'checkpoint-unused',
    level: 'warning',
    about:
      'No command or file that is sent mentions the checkpoint folder, so nothing seems to be saved in it.',
    check: unusedCheckpoint,
  },
];

function tooLong({ plan, limits, where }: PlanFacts): RuleResult {
  const { timeSeconds, gpus } = plan.spec.resources;
  const longest = durationClasses(limits ?? {}, gpus).at(-1);
  if (longest === undefined || timeSeconds === undefined || timeSeconds <= longest.seconds) return [];
  const kept = plan.spec.train.checkpoint === undefined ? 'set `checkpoint` in [train] and ' : 'set ';
  return {
    message: `time = "${formatDuration(timeSeconds)}" is longer than the limit of ${formatDuration(longest.seconds)} on ${limits?.title ?? ''}`,
    fix: `${kept}time = "${formatDuration(longest.seconds)}" or less: the next attempt resumes from the checkpoint`,
    place: where('resources', 'time'),
  };
}

function unusedCheckpoint({ plan, code, where }: PlanFacts & CodeFacts): RuleResult {
  const { checkpoint } = plan.spec.train;
  if (checkpoint === undefined || !code.isKnown) return [];
  if ([checkpoint, 'UPDRAFT_CHECKPOINT', 'updraft.training'].some((word) => mentions(code, word))) return [];
  return {
    message: `neither the command nor the ${code.files.length === 1 ? 'file' : `${code.files.length} files`} it runs mention the folder "${checkpoint}": nothing would be saved`,
    fix: 'wrap the loop in `updraft.training`, or save into it (its path is also in UPDRAFT_CHECKPOINT) and resume from it at the start',
    place: where('train', 'checkpoint'),
  };
}
