import { asFound, counted, formatSize, type Found, type Rule, rule, given } from '@updraft/base';
import type { Facts, SlotFacts } from '../facts.ts';

type SlotRuleFacts = Pick<Facts, 'slots' | 'where'>;

/** How many machines would match without one condition. */
export interface Cost {
  index: number;
  words: string;
  without: number;
}

/** How many machines of the pool could ever run the job, how many could now, and what each condition excludes. */
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
    .map(({ words }, index) => ({ index, words, without: slots.filter((slot) => fits(slot, index)).length }))
    .filter(({ without }) => without > matching)
    .sort((a, b) => b.without - a.without);
  return {
    total: slots.length,
    matching,
    free: slots.filter((slot) => fits(slot) && slot.fitsNow).length,
    costs,
  };
}

/** Rules about the machines that are in the pool now. */
export const slotRules: Rule<SlotRuleFacts>[] = [
  rule(
    'requirements-invalid',
    'error',
    'HTCondor cannot parse `requirements` and would refuse every job.',
    ({ slots, where }) =>
      slots?.isUnreadable === true
        ? asFound(
            'HTCondor cannot parse `requirements`: it is not a valid ClassAd expression',
            'check for unclosed brackets and quotes, and for = instead of ==; ' +
              'try it with: condor_status -constraint EXPRESSION',
            where('run', 'requirements'),
          )
        : undefined,
  ),
  rule(
    'no-slot',
    'error',
    'No machine of the pool could run the job, even when idle.',
    ({ slots, where }) => {
      if (slots === undefined || slots.slots.length === 0) return [];
      const { matching, total } = analyseSlots(slots);
      return matching > 0 ? [] : [nothingMatches(slots, total, where)];
    },
  ),
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
      ? 'no single condition excludes them all: relax those that few machines meet'
      : `without \`${worst.words}\`, ${worst.without} would match`;
  return asFound(
    `none of the ${counted(total, 'machine')} in the pool matches now; ` +
      `machines that meet each condition: ${each}${largestOf(slots, each)}`,
    fix,
    cause === undefined ? where('resources') : slots.conditions[cause.index]?.place,
  );
}

/** The maximum of what no machine has enough of. */
function largestOf({ largest }: SlotFacts, unmet: string): string {
  const max = given(
    unmet.includes('memory') && `${formatSize(largest.memoryBytes)} memory`,
    unmet.includes('disk') && `${formatSize(largest.diskBytes)} disk`,
  );
  return max.length === 0 ? '' : `; the maximum is ${max.join(', ')}`;
}
