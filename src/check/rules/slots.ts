import { counted } from '../../base/counted.ts';
import { formatSize } from '../../job/units.ts';
import type { Facts, SlotFacts } from '../facts.ts';
import type { Found, Rule } from '../../base/finding.ts';

type SlotRuleFacts = Pick<Facts, 'slots' | 'where'>;

/** A condition dropped, and how many machines would then do. */
export interface Cost {
  index: number;
  words: string;
  without: number;
}

/** How many machines of the pool could ever run the job, how many could now, and what each condition costs. */
export function analyseSlots({ conditions, slots }: SlotFacts): {
  total: number;
  matching: number;
  free: number;
  costs: Cost[];
} {
  const fits = ({ meets }: SlotFacts['slots'][number], but = -1): boolean =>
    meets.every((holds, index) => holds || index === but);
  const matching = slots.filter((slot) => fits(slot)).length;
  const costs = conditions
    .map(({ words }, index) => ({
      index,
      words,
      without: slots.filter((slot) => fits(slot, index)).length,
    }))
    .filter(({ without }) => without > matching)
    .sort((a, b) => b.without - a.without);
  return {
    total: slots.length,
    matching,
    free: slots.filter((slot) => fits(slot) && slot.fitsNow).length,
    costs,
  };
}

/** Rules about the machines of the pool as they are now. */
export const slotRules: Rule<SlotRuleFacts>[] = [
  {
    name: 'requirements-invalid',
    level: 'error',
    about: 'HTCondor cannot read the condition in `requirements`, and would refuse every job.',
    check: ({ slots, where }) =>
      slots?.isUnreadable === true
        ? {
            message: 'HTCondor cannot read `requirements`: it is no expression of its language',
            fix: 'look for brackets and quotes that are not closed, and for = where == is meant; try it with: condor_status -constraint EXPRESSION',
            place: where('run', 'requirements'),
          }
        : undefined,
  },
  {
    name: 'no-slot',
    level: 'error',
    about: 'No machine of the pool could run the job, even when nothing else runs there.',
    check: ({ slots, where }) => {
      if (slots === undefined || slots.slots.length === 0) return [];
      const { matching, total } = analyseSlots(slots);
      return matching > 0 ? [] : [nothingMatches(slots, total, where)];
    },
  },
  {
    name: 'few-slots',
    level: 'warning',
    about: 'One condition keeps most machines of the pool away from the job.',
    check: ({ slots }) => {
      if (slots === undefined) return [];
      const { matching, total, costs } = analyseSlots(slots);
      const [worst] = costs;
      if (matching === 0 || matching * 4 > total || worst === undefined) return [];
      const place = slots.conditions[worst.index]?.place;
      return {
        message: `${matching} of ${counted(total, 'machine')} ${matching === 1 ? 'matches' : 'match'}; \`${worst.words}\` costs most: without it ${worst.without} would`,
        fix: 'ask for less there, if the training allows it',
        place,
      };
    },
  },
];

function nothingMatches(slots: SlotFacts, total: number, where: SlotRuleFacts['where']): Found {
  const { costs } = analyseSlots(slots);
  const [worst] = costs;
  const unmet = slots.conditions
    .map(({ words }, index) => ({
      words,
      index,
      met: slots.slots.filter(({ meets }) => meets[index]).length,
    }))
    .filter(({ met }) => met < total)
    .sort((a, b) => a.met - b.met);
  const each = unmet.map(({ words, met }) => `\`${words}\` ${met}`).join(', ');
  const cause = worst ?? unmet[0];
  const fix =
    worst === undefined
      ? 'no single condition is to blame: relax those that few meet'
      : `without \`${worst.words}\` ${worst.without} would match`;
  return {
    message: `none of the ${counted(total, 'machine')} in the pool now matches; how many meet each: ${each}${largestOf(slots, each)}`,
    fix,
    place: cause === undefined ? where('resources') : slots.conditions[cause.index]?.place,
  };
}

/** What there is at most, where that is the question. */
function largestOf({ largest }: SlotFacts, unmet: string): string {
  const max = [
    ...(unmet.includes('memory') ? [`${formatSize(largest.memoryBytes)} memory`] : []),
    ...(unmet.includes('disk') ? [`${formatSize(largest.diskBytes)} disk`] : []),
  ];
  return max.length === 0 ? '' : `; the most there is: ${max.join(', ')}`;
}
