import { shellQuote, given } from '@updraft/base';
import { parameterPattern, resultNames, seedName } from '@updraft/account/parameters';
import { plainPath } from './inside.ts';
import type { Job } from './job.ts';
import { jobId } from '@updraft/account/run-folder';
import { balancedOrder, combinations, type Matrix, parameterNames } from './matrix.ts';
import type { RunOptions, Scalar, Train } from './spec.ts';

/** A job's number, and the parameters it has of the matrix and of `repeat`. */
export interface JobValues {
  id: string;
  index: number;
  parameters: Record<string, Scalar>;
  /** Its number if the last parameter of the matrix changed fastest. */
  rank: number;
}

/** What decides how many jobs there are, and with which parameters. */
type Sweep = Pick<RunOptions, 'jobs' | 'matrix' | 'repeat'>;

/**
 * The jobs of a run, always in the same order: every combination of the matrix, `jobs` times, and that with each
 * seed of `repeat`. Combinations take turns, so that a bad hour of the pool hits all of them alike.
 */
export function listJobs({ jobs, matrix, repeat = 0 }: Sweep): JobValues[] {
  const cells = combinations(matrix);
  const order = balancedOrder(matrix);
  const rounds = Array.from({ length: Math.max(1, repeat) * jobs }, (_, round) => Math.floor(round / jobs));
  const all = rounds.flatMap((seed) =>
    order.map((cell) => ({
      parameters: { ...cells[cell], ...(repeat > 0 ? { [seedName]: seed + 1 } : {}) },
      rank: seed * cells.length + cell,
    })),
  );
  return all.map((job, index) => ({ id: jobId(index), index, ...job }));
}

export const placeholderValues = ({
  id,
  index,
  parameters,
}: Omit<JobValues, 'rank'>): Record<string, Scalar> => ({
  ...parameters,
  job: id,
  index,
});

/** A job with its parameters filled in. A value in a command stays data, whatever it contains. */
export function fillJob(train: Train, job: JobValues): Job {
  const { id, index, parameters } = job;
  const values = placeholderValues(job);
  const env: [string, string][] = Object.entries(train.env).map(([name, value]) => [
    name,
    fillText(value, values),
  ]);
  return {
    id,
    parameters,
    train: {
      ...train,
      command: fillShell(train.command, values),
      outputs: train.outputs.map((output) => plainPath(fillText(output, values))),
      ...(train.check !== undefined && { check: fillShell(train.check, values) }),
      env: { ...Object.fromEntries(env), ...jobVariables(id, index, parameters) },
    },
  };
}

/** The variable with a parameter's value: `optim.lr` is in `UPDRAFT_PARAM_OPTIM_LR`. */
export const parameterVariable = (name: string): string =>
  `UPDRAFT_PARAM_${name.toUpperCase().replace(/\W/g, '_')}`;

function jobVariables(id: string, index: number, parameters: Record<string, Scalar>): Record<string, string> {
  const own: Record<string, string> = { UPDRAFT_JOB: id, UPDRAFT_INDEX: String(index) };
  for (const [name, value] of Object.entries(parameters)) own[parameterVariable(name)] = String(value);
  return own;
}

/** Fills placeholders with the plain text of their values. */
export const fillText = (text: string, values: Record<string, Scalar>): string =>
  parseTemplate(text)
    .parts.map((part) => ('literal' in part ? part.literal : String(values[part.name])))
    .join('');

/** Fills placeholders of a shell command so that each value stays one word, whatever it contains. */
export function fillShell(text: string, values: Record<string, Scalar>): string {
  const { parts } = parseTemplate(text);
  const contexts = shellContexts(parts);
  return parts
    .map((part, index) => {
      if ('literal' in part) return part.literal;
      const value = String(values[part.name]);
      switch (contexts[index]) {
        case 'double':
          return value.replace(/[\\$`"]/g, String.raw`\$&`);
        case 'single':
          return value.replaceAll("'", String.raw`'\''`);
        default:
          return shellQuote(value);
      }
    })
    .join('');
}

/** How the shell reads a placeholder's position. `unclear`: no quoting is known to be safe there. */
type ShellContext = 'none' | 'single' | 'double' | 'unclear';

interface State {
  context: ShellContext;
  escaped: boolean;
  comment: boolean;
}

/** The shell's quoting context at every part of a command. */
export function shellContexts(parts: readonly Part[]): ShellContext[] {
  const state: State = { context: 'none', escaped: false, comment: false };
  let before = '\n';
  return parts.map((part) => {
    const context = state.escaped || state.comment ? 'unclear' : state.context;
    const text = 'literal' in part ? part.literal : 'x';
    for (let at = 0; at < text.length && state.context !== 'unclear'; at++)
      at += step(state, text.slice(at), at === 0 ? before : text.charAt(at - 1));
    before = text.at(-1) ?? before;
    return context;
  });
}

/** Processes one character and returns how many more it consumed. */
function step(state: State, rest: string, before: string): number {
  const char = rest.charAt(0);
  if (state.comment) {
    state.comment = char !== '\n';
  } else if (state.escaped) {
    state.escaped = false;
  } else if (state.context === 'single') {
    if (char === "'") state.context = 'none';
  } else if (cannotFollow(state.context, rest)) {
    state.context = 'unclear';
  } else if (rest.startsWith('${')) {
    return rest.indexOf('}');
  } else if (char === '\\') {
    state.escaped = true;
  } else if (char === '"') {
    state.context = state.context === 'double' ? 'none' : 'double';
  } else if (state.context === 'none') {
    if (char === "'") state.context = 'single';
    if (char === '#' && /[\s;&|()]/.test(before)) state.comment = true;
  }
  return 0;
}

/** Constructs with quoting rules of their own: here-documents, arithmetic, substitution inside quotes. */
function cannotFollow(context: ShellContext, rest: string): boolean {
  if (/^(`|\$\(\(|\$\{[^{}]*["'`\\$])/.test(rest) || (rest.startsWith('${') && !rest.includes('}')))
    return true;
  return context === 'double' ? rest.startsWith('$(') : /^(<<|\$'|\(\()/.test(rest);
}

/** A piece of a template: literal text or a `{name}` placeholder. */
type Part = { literal: string } | { name: string };

/** Placeholders that every job has besides the run's parameters. */
const builtinNames = ['job', 'index'] as const;

export const placeholderNames = (matrix: Matrix, hasRepeat: boolean): string[] => [
  ...new Set(given(...parameterNames(matrix), hasRepeat && seedName, ...builtinNames)),
];

export const isBuiltin = (name: string): boolean => (builtinNames as readonly string[]).includes(name);

/** Names that no parameter may have, because every job has something else of this name. */
export const isReserved = (name: string): boolean =>
  isBuiltin(name) || (resultNames as readonly string[]).includes(name);

const tokenPattern = new RegExp(
  String.raw`(\$\{[^{}]*\}|[^{}$]+|\$)|(\{\{|\}\})|\{(${parameterPattern})\}|[{}]`,
  'g',
);

/**
 * Splits a template at `{name}`; `{{` and `}}` are literal braces, and the shell's own `${NAME}` is kept. Any other
 * brace is a problem rather than a guess.
 */
export function parseTemplate(text: string): { parts: Part[]; problem?: string } {
  const parts: Part[] = [];
  let literal = '';
  for (const [whole, plain, doubled, name] of text.matchAll(tokenPattern)) {
    if (name !== undefined) {
      parts.push({ literal }, { name });
      literal = '';
    } else if (plain !== undefined || doubled !== undefined) {
      literal += plain ?? whole.charAt(0);
    } else {
      const problem = `a lone "${whole}"; write "${whole}${whole}" for a brace, {name} for a parameter`;
      return { parts, problem };
    }
  }
  return { parts: [...parts, { literal }] };
}
