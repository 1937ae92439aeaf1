import { poolTraits } from '../../job/pool-traits.ts';
import { formatDuration } from '../../job/units.ts';
import type { Facts } from '../facts.ts';
import type { Found, Rule } from '../../base/finding.ts';

type TokenFacts = Pick<Facts, 'tokens' | 'now' | 'plan'>;

/** Taken for waiting in the queue and being tried again; nobody knows it before. */
const queueSeconds = 24 * 3600;
/** Taken for an attempt whose time is not said. */
const attemptSeconds = 4 * 3600;

/** Rules about the tokens that protected objects are fetched with. */
export const tokenRules: Rule<TokenFacts>[] = [
  {
    name: 'token-missing',
    level: 'error',
    about: 'An object asks for a token, and none can be read here.',
    check: (facts) => problems(facts, 'missing'),
  },
  {
    name: 'token-expired',
    level: 'error',
    about: 'The token for an object has expired.',
    check: (facts) => problems(facts, 'expired'),
  },
  {
    name: 'token-short',
    level: 'warning',
    about: 'A token expires before the jobs can be expected to have run.',
    check: ({ tokens, now, plan }) => {
      const attempt = plan.spec.resources.timeSeconds ?? attemptSeconds;
      const isQueued = !poolTraits[plan.spec.run.pool].runsHere;
      const needed = attempt + (isQueued ? queueSeconds : 0);
      const takes = isQueued ? 'a day in the queue and an attempt take' : 'an attempt may take';
      return tokens.flatMap(({ label, place, expires }) => {
        const left = expires === undefined ? Infinity : (expires - now) / 1000;
        if (left >= needed || left <= 0) return [];
        return [
          {
            message: `the token of ${label} is good for ${formatDuration(Math.floor(left))} more; ${takes} ${formatDuration(needed)}`,
            fix: 'get a token that lives longer, or renew its file while jobs wait: each attempt is sent what it holds then',
            place,
          },
        ];
      });
    },
  },
];

function problems({ tokens }: TokenFacts, kind: 'missing' | 'expired'): Found[] {
  return tokens.flatMap(({ problem, label, place }) =>
    problem?.kind === kind ? [{ message: `${label}: ${problem.message}`, fix: problem.fix, place }] : [],
  );
}
