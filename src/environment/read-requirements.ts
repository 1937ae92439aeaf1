import { defined } from '../base/defined.ts';
import { plainName } from './locked-package.ts';
import type { Dependency } from './pixi-manifest.ts';

type Table = Record<string, unknown>;
type Lines = Map<string, number>;

/**
 * What the standard tables of a `pyproject.toml` ask for, by the feature that Pixi makes of each: the project's own
 * requirements, its optional ones and its dependency groups. A group that is included in another is not followed.
 */
export function readRequirements(whole: Table, lines: Lines): Map<string, Dependency[]> {
  const project = tableOf(whole['project']);
  const from = (path: string[], list: unknown): Dependency[] =>
    (Array.isArray(list) ? (list as unknown[]) : []).flatMap((text, index) =>
      typeof text === 'string' ? requirement(text, lines.get(JSON.stringify([...path, index]))) : [],
    );
  const groups = [['project', 'optional-dependencies'], ['dependency-groups']].flatMap((path) => {
    const table = path.reduce<Table>((outer, key) => tableOf(outer[key]), whole);
    return Object.entries(table).map(([name, list]) => [name, from([...path, name], list)] as const);
  });
  const own = [...python(project, lines), ...from(['project', 'dependencies'], project['dependencies'])];
  const asked = new Map<string, Dependency[]>();
  for (const [name, list] of [['default', own] as const, ...groups])
    asked.set(name, [...(asked.get(name) ?? []), ...list.filter((one) => one.name !== project['name'])]);
  return asked;
}

const tableOf = (value: unknown): Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Table) : {};

function python(project: Table, lines: Lines): Dependency[] {
  const spec = project['requires-python'];
  const line = lines.get(JSON.stringify(['project', 'requires-python']));
  return typeof spec === 'string' ? [{ kind: 'conda', name: 'python', spec, ...defined({ line }) }] : [];
}

/** `torch[extra] >=2.4,<3 ; marker`, or a name and where it is. */
function requirement(text: string, line: number | undefined): Dependency[] {
  const [, name, spec = '', marker] =
    /^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;]*?)\s*(;.*)?$/.exec(text) ?? [];
  if (name === undefined) return [];
  const version = spec.replaceAll(/[()]/g, '').trim();
  return [
    {
      kind: 'pypi',
      name: plainName('pypi', name),
      spec: version === '' || version.startsWith('@') ? '*' : version,
      ...defined({ line }),
      ...(marker !== undefined && { conditional: true }),
    },
  ];
}
