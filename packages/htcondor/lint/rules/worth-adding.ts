import type { Rule } from '@updraft/base';
import {
  attributeValue,
  type Batch,
  batches,
  type SubmitFacts,
  transfersNothing,
  valueOf,
} from '../../submit/submit-facts.ts';

/** Advice that half of all files would get: one finding, whatever it lists. */
export const worthAddingRules: Rule<SubmitFacts>[] = [
  {
    name: 'worth-adding',
    level: 'note',
    about: 'Lines that most jobs gain from are missing: requests, outputs, a limit on retries, the project.',
    check: (facts) => {
      const jobs = batches(facts);
      const [first] = jobs;
      const missing = advice.filter(({ lacks }) => jobs.some((batch) => lacks(batch, facts)));
      if (first === undefined || missing.length === 0) return [];
      const all = missing.map((one) => ({ ...one, lines: one.lines(first, facts) }));
      const texts = all.map(({ lines, why }) => `\`${lines.join('` and `')}\` (${why})`);
      return {
        message: `also worth adding: ${texts.join('; ')}`,
        fix: ['add the lines that fit your jobs:', ...all.flatMap(({ lines }) => lines)].join('\n'),
        place: first.queue.place,
      };
    },
  },
];

const lacks = (batch: Batch, ...names: string[]): boolean =>
  names.every((name) => valueOf(batch, name) === undefined);

const advice: {
  lacks: (batch: Batch, facts: SubmitFacts) => boolean;
  lines: (batch: Batch, facts: SubmitFacts) => string[];
  why: string;
}[] = [
  {
    lacks: (batch) => lacks(batch, 'request_memory') || lacks(batch, 'request_disk'),
    lines: (batch) => [
      ...(lacks(batch, 'request_memory') ? ['request_memory = 4 GB'] : []),
      ...(lacks(batch, 'request_disk') ? ['request_disk = 10 GB'] : []),
    ],
    why: 'the default is 128 MB of memory, and disk for the input',
  },
  {
    lacks: (batch) =>
      !transfersNothing(batch) &&
      ['transfer_output_files', 'output_destination', 'transfer_output_remaps'].every(
        (name) => !(name in batch.job.commands),
      ),
    lines: () => ['transfer_output_files = model.pt'],
    why: 'a job without its result is then held, and files in folders are returned',
  },
  {
    lacks: (batch) =>
      lacks(batch, 'periodic_release', 'max_retries', 'retry_until', 'success_exit_code', 'on_exit_remove'),
    lines: () => [
      'max_retries = 3',
      'periodic_release = (HoldReasonCode == 12 || HoldReasonCode == 13) && NumHolds < 5 && (time() - EnteredCurrentStatus) > 600',
    ],
    why: 'one stalled transfer or bad machine then does not end a job',
  },
  {
    lacks: (batch, { limits }) =>
      limits.wantsProject &&
      attributeValue(batch, 'ProjectName') === undefined &&
      lacks(batch, 'project_name'),
    lines: () => ['+ProjectName = "YourProject"'],
    why: 'the pool accounts by project',
  },
  {
    lacks: (batch, { limits: { resumable } }) =>
      resumable !== undefined &&
      !lacks(batch, 'checkpoint_exit_code') &&
      attributeValue(batch, resumable) === undefined,
    lines: (_, { limits }) => [`+${limits.resumable ?? ''} = true`],
    why: 'opens backfill slots to jobs with checkpoints',
  },
];
