import { counted } from '../../base/counted.ts';
import type { Found, Rule } from '../../base/finding.ts';
import { parametersOf } from '../../job/matrix.ts';
import { mentions } from '../code/code.ts';
import type { CodeFacts, PlanFacts } from '../facts.ts';

/** Rules about the parameters of a sweep. */
export const parameterRules: Rule<PlanFacts & CodeFacts>[] = [
  {
    name: 'matrix-unused',
    level: 'warning',
    about: 'Nothing uses a parameter of the matrix, so its jobs are identical.',
    check: unusedParameters,
  },
];

function unusedParameters({ plan, code, where }: PlanFacts & CodeFacts): Found[] {
  const { command, check = '', outputs, env } = plan.spec.train;
  const templates = [command, check, ...outputs, ...Object.values(env)];
  // A program may put the variable's name together itself.
  if (code.texts.some((text) => /UPDRAFT_PARAM_(?![A-Z0-9])/.test(text))) return [];
  const isUsed = (name: string): boolean =>
    plan.variedBy?.includes(name) === true ||
    templates.some((text) => text.includes(`{${name}}`)) ||
    mentions(code, `UPDRAFT_PARAM_${name.toUpperCase()}`);
  return Object.entries(plan.spec.run.matrix)
    .filter(([, values]) => values.length > 1)
    .filter(([name, values]) => !parametersOf(name, values).some(isUsed))
    .map(([group, values]) => {
      const names = parametersOf(group, values);
      const [name = group] = names;
      return {
        message: `neither the command nor the files sent use the parameter ${names.map((one) => `"${one}"`).join(' or ')}: ${counted(values.length, 'identical job')}${plan.jobs.length > values.length ? ' of each kind' : ''}`,
        fix: `pass it in the command, as in \`--${name} {${name}}\`, or read $UPDRAFT_PARAM_${name.toUpperCase()}`,
        place: where('run', 'matrix', group),
      };
    });
}
