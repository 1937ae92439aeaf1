import type { Found, Rule } from '../../base/finding.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { machinePaths, type MachinePath } from '../code/machine-paths.ts';
import type { CodeFacts, HereFacts, PlanFacts } from '../facts.ts';

type PathFacts = PlanFacts & CodeFacts & HereFacts;

/** Rules about paths of this machine, which workers do not have. */
export const localPathRules: Rule<PathFacts>[] = [
  {
    name: 'local-path',
    level: 'error',
    about: 'A command, an argument or code names a path of this machine, but the job runs on another.',
    check: (facts) => localPaths(facts, true),
  },
  {
    name: 'local-path-perhaps',
    level: 'warning',
    about:
      'Code names a path that workers hardly have, but in a line that may never run, or of a machine that is not this one.',
    check: (facts) => localPaths(facts, false),
  },
];

function localPaths({ plan, code, where, here }: PathFacts, isCertain: boolean): Found[] {
  const traits = poolTraits[plan.spec.run.pool];
  if (traits.runsHere || traits.sharesFolder) return [];
  const env = Object.entries(plan.spec.train.env).map(([name, value]) => ({
    value,
    place: where('train', 'env', name),
  }));
  const hasImage = plan.spec.environment.image !== undefined;
  return findLocalPaths(machinePaths(code, { env, folder: plan.folder }), here, { isCertain, hasImage });
}

const readFix =
  'send it with train.files, or make it a [data] table, and name it by its path in the work folder';
const writtenFix = 'write to a path in the work folder, and declare it in train.outputs';

/** Also for submit files. */
export function findLocalPaths(
  paths: readonly MachinePath[],
  { existing }: HereFacts['here'],
  { isCertain, hasImage }: { isCertain: boolean; hasImage: boolean },
): Found[] {
  return paths.flatMap(({ text, place, by, isWritten = false }) => {
    const isThere = existing.has(text);
    const isHome = /^(?:~|\$\{?HOME\}?|\/home|\/Users)\//.test(text) && !hasImage;
    if (!isThere && !isHome && (by !== 'default' || hasImage)) return [];
    // A folder like /data may exist on workers, too; code may be in a branch that never runs.
    const isTop = /^\/[^/]+\/?$/.test(text);
    if ((isThere ? !isTop : isHome && by !== 'code') !== isCertain) return [];
    const whose = isThere
      ? 'is a path of this machine'
      : isHome
        ? 'is in a home folder'
        : 'is a path of another machine';
    const how = by === 'default' ? ', the default of an argument that the command does not pass,' : '';
    return [
      {
        message: `\`${text}\`${how} ${whose}: workers do not have it`,
        fix: isWritten ? writtenFix : readFix,
        place,
      },
    ];
  });
}
