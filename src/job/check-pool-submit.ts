import {
  entriesAt,
  problemAt,
  problemAtKey,
  type SourceFile,
  type SpecProblem,
  valueAt,
} from './source-file.ts';
import { poolTraits } from './pool-traits.ts';
import { submitFileLines, type PoolLines } from './submit-lines.ts';

/** Lines that the user adds for the pool: none of ours is replaced, and none ends before its end. */
export function checkPoolSubmit(source: SourceFile): SpecProblem[] {
  const pool = valueAt(source.value, ['run', 'pool']);
  const traits = Object.entries(poolTraits).find(([name]) => name === pool)?.[1];
  const lines = traits?.submitLines ?? submitFileLines;
  return entriesAt(source.value, ['pool', 'submit']).flatMap(([name, value]) => {
    const at = ['pool', 'submit', name];
    const wrong = nameProblem(name, lines);
    if (wrong !== undefined) return [problemAtKey(source, at, wrong)];
    const said = typeof value === 'string' ? textProblem(value) : undefined;
    return said === undefined ? [] : [problemAt(source, at, said)];
  });
}

function nameProblem(name: string, { names, expected, byKey, fixed }: PoolLines): string | undefined {
  const plain = name.toLowerCase().replace(/^(\+|my\.)/, '');
  if (fixed.test(plain)) return 'Updraft writes this line itself, and its recovery rests on it; take it out';
  const instead = Object.keys(byKey).find((key) => byKey[key]?.test(plain));
  if (instead !== undefined) return `Updraft writes this line itself; use ${instead} instead`;
  return names.test(name) ? undefined : `this name cannot be used; expected ${expected}`;
}

function textProblem(text: string): string | undefined {
  if (/[\0\n\r]/.test(text)) return 'has a line break; expected one line';
  if (/\\\s*$/.test(text)) return 'ends in a backslash, which would join it with the line below; take it out';
  if (/\$\$?[\w:]*[([]/.test(text)) return 'has a macro, like $(NAME); expected the value itself';
  return text.trim() === '' ? 'is empty; expected a value' : undefined;
}
