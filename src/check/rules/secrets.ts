import type { Rule } from '@updraft/base';
import { isSecretName } from '@updraft/base/secrets';
import { secretFix } from '../../job/secrets.ts';
import type { PlanFacts, SecretFacts } from '../facts.ts';

export const secretRules: Rule<PlanFacts & SecretFacts>[] = [
  {
    name: 'secret-missing',
    level: 'error',
    about: 'A secret of [train.secrets] is missing: the run cannot be submitted.',
    check: ({ secrets, where }) =>
      secrets
        .filter(({ value }) => value === undefined)
        .map(({ name, from }) => ({
          message: `the secret ${name} is not in ${from}`,
          fix: secretFix(from),
          place: where('train', 'secrets', name),
        })),
  },
  {
    name: 'secret-in-env',
    level: 'warning',
    about: 'A variable of [train.env] looks like a secret: its value is written into the files of the run.',
    check: ({ plan, where }) =>
      Object.entries(plan.spec.train.env)
        .filter(([name, value]) => isSecretName(name) && value !== '')
        .map(([name]) => ({
          message: `${name} in [train.env] looks like a secret, but its value is written into the plan and the work orders of the run`,
          fix: `write ${name} = { from = "env" } in [train.secrets] instead`,
          place: where('train', 'env', name),
        })),
  },
];
