import type { Env, SourceLine } from '@updraft/base';
import { expandMacros, macroReferences, ExpansionBudget, type Scope } from './expand-macros.ts';
import type { Assignment, ReadingProblem, Submission } from './submission.ts';
import type { SubmitFiles } from './submit-files.ts';
import { canonicalCommand } from './submit-commands.ts';

/** A value that `condor_submit` gets besides the file, as DAGMan gives it the VARS of a node. */
export interface GivenValue {
  name: string;
  value: string;
  /** Set after the file's own lines, which it overrides; the others are set before them. */
  append: boolean;
  place: SourceLine;
}

/** What a submit file may refer to; without it nothing outside the text is read. */
export interface ReaderContext {
  /** The name of the file, for places. */
  file: string;
  /** Where `condor_submit` runs. */
  cwd?: string;
  env?: Env;
  /** Included files, lists of items, and what patterns match. */
  files?: SubmitFiles;
  version?: readonly [number, number, number];
  /** How many jobs of one queue statement are resolved. */
  maxJobs?: number;
  /** The number that the schedd assigned; before that, the one `condor_submit -dry-run` uses. */
  cluster?: number | undefined;
  now?: Date;
  given?: readonly GivenValue[];
}

/** Enough jobs for every rule, and cheap for a big batch. */
const defaultMaxJobs = 100;

/** The command or the attribute that a name sets; none for a macro. */
export function targetOf(name: string): Pick<Assignment, 'command' | 'attribute'> {
  const attribute = /^MY\.(.+)$/i.exec(name)?.[1];
  return { attribute, command: attribute === undefined ? canonicalCommand(name) : undefined };
}

/** What is known while a submit file is being read. */
export class SubmitReader {
  readonly context: ReaderContext;
  /** The last assignment of each name as written, and of each command by its usual name; in lower case. */
  readonly macros = new Map<string, Assignment>();
  readonly inForce = new Map<string, Assignment>();
  readonly budget = new ExpansionBudget();
  readonly submission: Submission;
  readonly maxJobs: number;
  stopped = false;
  /** The number of the next job in its cluster. */
  nextProcess = 0;

  constructor(context: ReaderContext) {
    this.context = context;
    this.maxJobs = context.maxJobs ?? defaultMaxJobs;
    this.submission = {
      file: context.file,
      assignments: [],
      queues: [],
      hasNoQueue: false,
      problems: [],
      referenced: new Set(),
      unset: new Set(),
    };
    this.takeGiven(false);
  }

  /** Sets the values that come before the file's own lines, or those that come after them. */
  takeGiven(append: boolean): void {
    for (const given of this.context.given ?? [])
      if (given.append === append) this.assign(given.name, given.value, given.place);
  }

  assign(name: string, value: string, place: SourceLine): void {
    this.budget.spend(value);
    const assignment = { name, ...targetOf(name), value, place };
    this.submission.assignments.push(assignment);
    this.macros.set(name.toLowerCase(), assignment);
    this.inForce.set(assignment.command ?? name.toLowerCase(), assignment);
  }

  /** Records the names that a text refers to, so that unused ones can be reported. */
  refer(text: string, ...names: (string | undefined)[]): void {
    for (const name of [...macroReferences(text), ...names])
      if (name !== undefined) this.submission.referenced.add(name.toLowerCase());
  }

  note(kind: ReadingProblem['kind'], message: string, place: SourceLine): void {
    this.submission.problems.push({ kind, message, place });
  }

  /** HTCondor would refuse the file here, so the rest is not read. */
  stop(message: string, place: SourceLine): void {
    this.note('syntax', message, place);
    this.stopped = true;
  }

  oddComment(place: SourceLine): void {
    const message =
      'a comment inside a continued line: HTCondor adds its last character ' +
      'to the value, and the statement ends there unless that is a backslash';
    this.note('odd-comment', message, place);
  }

  conditions(): ConditionContext {
    const scope = this.scope();
    return {
      expand: (text) => expandMacros(text, scope),
      lookup: (name) => scope.lookup(name),
      version: this.context.version ?? [25, 0, 0],
    };
  }

  /** What an expansion sees now; `live` holds the values of one job, which hide the file's. */
  scope(live: Readonly<Record<string, string>> = {}, chosen: () => void = () => undefined): Scope {
    const { env = {}, cwd = '/' } = this.context;
    const ambient = ambientMacros(this.context);
    return {
      lookup: (name) => {
        const key = name.toLowerCase();
        return live[key] ?? this.macros.get(key)?.value ?? ambient[key];
      },
      // The shell's own name for the folder where `condor_submit` runs.
      env: (name) => {
        const value = name === 'PWD' ? (this.context.cwd ?? env[name]) : env[name];
        // A page in a browser knows no variables at all.
        if (value === undefined && Object.keys(env).length > 0) this.submission.unset.add(name);
        return value;
      },
      cwd,
      budget: this.budget,
      chosen,
    };
  }
}

/** Macros that HTCondor defines for every submit file. */
function ambientMacros({ file, now }: ReaderContext): Record<string, string> {
  const two = (value: number): string => String(value).padStart(2, '0');
  return {
    arch: 'X86_64',
    opsys: 'LINUX',
    islinux: 'true',
    iswindows: 'false',
    submit_file: file,
    ...(now === undefined
      ? {}
      : {
          submit_time: String(Math.floor(now.getTime() / 1000)),
          year: String(now.getFullYear()),
          month: two(now.getMonth() + 1),
          day: two(now.getDate()),
        }),
  };
}

/** What an `if` may refer to, besides literal booleans. */
interface ConditionContext {
  expand(text: string): string;
  lookup(name: string): string | undefined;
  /** The HTCondor version of the target pool, as three numbers. */
  version: readonly [number, number, number];
}

/** Thrown for a condition that HTCondor does not accept; the message is the reason. */
export class BadCondition extends Error {}

/** The value of the condition of `if` or `elif`. */
export function evaluateCondition(text: string, context: ConditionContext): boolean {
  const expanded = text.includes('$') ? context.expand(text).trim() : text.trim();
  const negated = expanded.startsWith('!');
  const condition = negated ? expanded.slice(1).trim() : expanded;
  if (condition === '' && text.includes('$')) return negated;
  return evaluate(condition, context) !== negated;
}

function evaluate(condition: string, context: ConditionContext): boolean {
  const literal = truth(condition);
  if (literal !== undefined) return literal;
  const version = /^version\s*(!?[<>=]=?|!)\s*v?(\d+)\.(\d+)(?:\.(\d+))?$/i.exec(condition);
  if (version !== null) return compareVersion(version, context.version);
  const defined = /^defined\b\s*(.*)$/i.exec(condition);
  if (defined !== null) return isDefined((defined[1] ?? '').trim(), context);
  if (/^version\b/i.test(condition)) throw new BadCondition('the version literal is invalid');
  throw new BadCondition(
    /^[\w.]+$/.test(condition) ? 'it is not a boolean' : 'HTCondor does not support complex conditions',
  );
}

function truth(text: string): boolean | undefined {
  if (/^(true|yes|t)$/i.test(text)) return true;
  if (/^(false|no|f)$/i.test(text)) return false;
  return /^[-\d.]+$/.test(text) ? Number.parseFloat(text) !== 0 : undefined;
}

function isDefined(name: string, context: ConditionContext): boolean {
  if (name === '') return false;
  if (/^use\s/i.test(name)) return false;
  if (!/^[\w.]+$/.test(name)) throw new BadCondition('`defined` takes one name');
  return (context.lookup(name) ?? '') !== '' || truth(name) !== undefined;
}

function compareVersion(match: RegExpExecArray, running: readonly [number, number, number]): boolean {
  const [, operator = '', major, minor, patch] = match;
  // A version without a third number is compared by two.
  const wanted = [Number(major), Number(minor), patch === undefined ? running[2] : Number(patch)];
  let order = 0;
  for (const [index, number] of running.entries())
    if (order === 0) order = Math.sign(number - (wanted[index] ?? 0));
  const plain = operator.replace('!', '');
  const holds =
    (plain.includes('<') && order < 0) ||
    (plain.includes('>') && order > 0) ||
    (plain.includes('=') && order === 0);
  return operator.startsWith('!') ? !holds : holds;
}
