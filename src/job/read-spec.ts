import path from 'node:path';
import { z } from 'zod';
import { errorReason, nearest } from '@updraft/base';
import { yaml } from '../environment/pixi-lock.ts';
import { Fault } from '@updraft/account/fault';
import { distinguishingParameters } from '@updraft/account/parameters';
import { checkConsistency, checkParameters, writtenMatrix } from './check-consistency.ts';
import { isBuiltin, type JobValues, listJobs, placeholderValues } from './expand.ts';
import { fileSchema, runSchema } from './file-schema.ts';
import { fillFile, filledTexts, onlyPlaceholder } from './fill-file.ts';
import { type Layer, overlay } from './layers.ts';
import { entryPath } from './matrix.ts';
import { readToml } from './read-toml.ts';
import {
  type KeyPath,
  type TextPosition,
  placeKey,
  problemAt,
  FileProblems,
  problemAtKey,
  showKey,
  type SourceFile,
  SpecFault,
  type SpecProblem,
  valueAt,
  withWritten,
} from './source-file.ts';
import { checkNoMatrix, withTrials } from './search-trials.ts';
import type { Spec } from './spec.ts';

/** The file as the jobs of a variant have it, with their parameters filled in. */
export interface SpecVariant {
  spec: Spec;
  jobs: JobValues[];
}

/** The user's file as data, or every problem it has. `source` knows where each value was written. */
export type SpecReading =
  | { spec: Spec; variants: [SpecVariant, ...SpecVariant[]]; variedBy: string[]; source: SourceFile }
  | { problems: [SpecProblem, ...SpecProblem[]]; source: SourceFile };

/** Reads TOML or YAML, by the file's ending; throws one `SpecFault` that lists every problem with its place. */
export function readSpec(text: string, file: string): Spec {
  const reading = checkSpec(text, file);
  if ('problems' in reading) throw new SpecFault(reading.problems);
  return reading.spec;
}

/** As `readSpec`, but returns the problems instead of throwing them; `layers` override the file's own values. */
export function checkSpec(text: string, file: string, layers: Layer[] = []): SpecReading {
  const written = layers
    .map((layer) => readLayer(layer))
    .reduce(overlay, readSource(text.replace(/^\uFEFF/, ''), file));
  if (written.value === undefined) return failed(written, written.problems);
  const source = withTrials(written);
  const taken = new FileProblems(written);
  checkNoMatrix(taken);
  const ofParameters = [...taken.found, ...checkParameters(source)];
  const filled = filledTexts(source.value);
  const variedBy = [...new Set(filled.flatMap(({ names }) => names))];
  const sweep =
    ofParameters.length > 0 ? undefined : runSchema.safeParse(valueAt(source.value, ['run']) ?? {});
  const groups = sweep?.success ? groupJobs(listJobs(sweep.data), variedBy) : [[]];
  if (groups.length > maxVariants) return failed(source, [tooManyVariants(source, filled, groups.length)]);
  const readings = groups.map((jobs) => readVariant(source, jobs));
  const [first] = readings;
  // Without its jobs, a value with placeholders cannot be judged.
  const unfilled = new Set(sweep?.success ? [] : filled.map(({ at }) => showKey(at)));
  const problems = [
    ...source.problems,
    ...ofParameters,
    ...variantProblems(source, readings, variedBy),
  ].filter((problem) => !unfilled.has(problem.key) || ofParameters.includes(problem));
  const variants = readings.flatMap(({ spec, jobs }) => (spec === undefined ? [] : [{ spec, jobs }]));
  if (problems.length > 0 || first?.spec === undefined) return failed(source, problems);
  return { spec: first.spec, variants: variants as [SpecVariant, ...SpecVariant[]], variedBy, source };
}

/** Each variant is read and resolved by itself. */
const maxVariants = 10_000;

function tooManyVariants(source: SourceFile, [first]: { at: KeyPath }[], count: number): SpecProblem {
  const message =
    `is different in ${count} jobs; expected at most ${maxVariants}: ` +
    'pass what only the training needs in the command';
  return problemAt(source, first?.at ?? [], message);
}

/**
 * The jobs, grouped by the values of the parameters that the rest of the file uses. The groups are in the order of the
 * matrix, whatever that of the queue: the hash of the plan depends on it.
 */
function groupJobs(jobs: JobValues[], variedBy: readonly string[]): JobValues[][] {
  const groups = Map.groupBy(jobs, (job) => {
    const values = placeholderValues(job);
    return JSON.stringify(variedBy.map((name) => values[name]));
  });
  if (variedBy.some(isBuiltin)) return [...groups.values()];
  const rankOf = (group: readonly JobValues[]): number =>
    group.reduce((least, { rank }) => Math.min(least, rank), Infinity);
  const ranked = [...groups.values()].map((group) => ({ group, rank: rankOf(group) }));
  return ranked.sort((a, b) => a.rank - b.rank).map(({ group }) => group);
}

interface VariantReading {
  jobs: JobValues[];
  spec?: Spec;
  problems: SpecProblem[];
}

function readVariant(source: SourceFile, jobs: JobValues[]): VariantReading {
  const [job] = jobs;
  const value = job === undefined ? source.value : fillFile(source.value, placeholderValues(job));
  const filled = { ...source, value };
  const parsed = fileSchema.safeParse(value);
  const problems = [
    ...(parsed.success ? [] : schemaProblems(parsed.error, filled, fileJsonSchema())),
    ...checkConsistency(filled),
  ];
  return { jobs, problems, ...(parsed.success && { spec: parsed.data }) };
}

/** Each problem once; one that only some variants have says which is the first. */
function variantProblems(
  source: SourceFile,
  readings: VariantReading[],
  variedBy: readonly string[],
): SpecProblem[] {
  const found = new Map<string, { problem: SpecProblem; job: JobValues | undefined; times: number }>();
  const inMatrix = matrixPlaces(source);
  for (const { problems, jobs } of readings)
    for (const general of problems) {
      const problem = inMatrix(general, jobs[0]) ?? general;
      const { line, column, key, message } = problem;
      const same = JSON.stringify([line, column, key, message]);
      const known = found.get(same);
      if (known === undefined) found.set(same, { problem, job: jobs[0], times: 1 });
      else known.times++;
    }
  const cells = readings.flatMap(({ jobs: [job] }) => (job === undefined ? [] : [placeholderValues(job)]));
  const names = distinguishingParameters(cells, variedBy);
  return [...found.values()].map(({ problem, job, times }) => {
    if (job === undefined || times === readings.length || problem.key.startsWith('run.matrix.'))
      return problem;
    const values = placeholderValues(job);
    const cell = names.map((name) => `${name} = ${JSON.stringify(values[name])}`).join(', ');
    return { ...problem, message: `${problem.message} (in the jobs with ${cell})` };
  });
}

/** Finds the entry of the matrix that has the value with a problem, where that fills a key by itself. */
export function matrixPlaces(
  source: SourceFile,
): (problem: SpecProblem, job: JobValues | undefined) => SpecProblem | undefined {
  const matrix = writtenMatrix(source);
  const filledBy = new Map(
    filledTexts(source.value).map(({ at }) => [
      showKey(at),
      onlyPlaceholder(String(valueAt(source.value, at))),
    ]),
  );
  return ({ key, message }, job) => {
    const name = filledBy.get(key);
    const entry = name && job && entryPath(matrix, name, placeholderValues(job));
    return entry ? problemAt(source, ['run', 'matrix', ...entry], `${message} (it fills ${key})`) : undefined;
  };
}

const readLayer = ({ text, file }: Layer): SourceFile =>
  file.startsWith('--set ') ? readToml(text, file) : readSource(text, file);

function readSource(text: string, file: string): SourceFile {
  const ending = path.extname(file).toLowerCase();
  if (ending === '.toml') return readToml(text, file);
  if (ending === '.yaml' || ending === '.yml') return readYaml(text, file);
  throw new Fault('file-invalid', `${file} is not a job file: its name ends neither in .toml nor in .yaml`, {
    about: file,
    fix: 'name it updraft.toml or updraft.yaml; updraft init writes one',
  });
}

function failed(source: SourceFile, problems: SpecProblem[]): SpecReading {
  const [first, ...rest] = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return { problems: [first ?? problemAt(source, [], 'cannot be read'), ...rest], source };
}

/** Reads YAML into values and their places; what is not valid becomes located problems. */
function readYaml(text: string, file: string): SourceFile {
  const { isMap, isNode, isPair, isScalar, isSeq, parseDocument } = yaml();
  const document = parseDocument(text, { prettyErrors: false, stringKeys: true });
  // The parser's own line counter stops where the parser stops.
  const placeOf = (offset: number): TextPosition => {
    const before = text.slice(0, offset).split('\n');
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  };
  const invalid = (offset: number, reason: string): SpecProblem => ({
    file,
    ...placeOf(offset),
    key: '',
    message: `this is not valid YAML (${reason})`,
  });
  const places: SourceFile['places'] = new Map();
  const record = (node: unknown, at: KeyPath): void => {
    if (!isMap(node) && !isSeq(node)) return;
    for (const [index, item] of node.items.entries()) {
      const [key, value] = isPair(item) ? [item.key, item.value] : [item, item];
      if (!isNode(key) || !key.range) continue;
      const inner = [...at, isSeq(node) ? index : String(key)];
      const range = isNode(value) && !isMap(value) ? value.range : undefined;
      places.set(placeKey(inner), {
        key: placeOf(key.range[0]),
        value: placeOf((range ?? key.range)[0]),
        text: isScalar(value) ? value.source : undefined,
      });
      record(value, inner);
    }
  };
  record(document.contents, []);
  const problems = [...document.errors, ...document.warnings].map((one) => invalid(one.pos[0], one.message));
  try {
    const value: unknown = problems.length > 0 ? undefined : (document.toJS() ?? {});
    return withWritten({ file, value, places, problems });
  } catch (error) {
    return { file, value: undefined, places, problems: [invalid(0, errorReason(error))] };
  }
}

/** Names that users know from submit files, with our keys for them. */
const foreignKeys: Record<string, string> = {
  executable: 'train.command',
  arguments: 'train.command',
  transfer_input_files: 'train.files',
  transfer_output_files: 'train.outputs',
  container_image: 'environment.image',
  request_cpus: 'resources.cpus',
  request_gpus: 'resources.gpus',
  request_memory: 'resources.memory',
  request_disk: 'resources.disk',
  queue: 'run.jobs',
  max_retries: 'run.attempts',
};

/** The issues of a schema as located problems, one for each key. */
export function schemaProblems(error: z.ZodError, source: SourceFile, schema: Node): SpecProblem[] {
  const problems: SpecProblem[] = [];
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys')
      for (const [index, key] of issue.keys.entries())
        problems.push(
          problemAtKey(
            source,
            [...issue.path, key],
            unknownKey(schema, source, issue.path, key, index === 0),
          ),
        );
    else if (issue.code === 'invalid_key')
      problems.push(problemAtKey(source, issue.path, issue.issues[0]?.message ?? issue.message));
    else problems.push(...innerProblems(issue, source));
  }
  const seen = new Set<string>();
  return problems.filter(({ key }) => !seen.has(key) && seen.add(key));
}

/** An issue of a table's own keys, where a plain value is allowed too, belongs to those keys. */
function innerProblems(issue: z.core.$ZodIssue, source: SourceFile): SpecProblem[] {
  const branches = issue.code === 'invalid_union' ? issue.errors : [];
  const inner =
    branches.find((issues) => issues.length > 0 && issues.every(({ path }) => path.length > 0)) ?? [];
  if (inner.length === 0) return [problemAt(source, issue.path, issue.message)];
  return inner.map(({ path: at, message }) => problemAt(source, [...issue.path, ...at], message));
}

/** With the keys that the table may have, once for each table. */
function unknownKey(
  schema: Node,
  { value }: SourceFile,
  table: KeyPath,
  key: string,
  isFirst: boolean,
): string {
  const known = keysAt(schema, table);
  const where = table.length === 0 ? 'the top level' : `[${showKey(table)}]`;
  const varied = valueAt(value, ['run', 'matrix', key]) === undefined ? undefined : `run.matrix.${key}`;
  const close =
    varied ?? nearest(key, known) ?? foreignKeys[key.toLowerCase()] ?? sectionWithKey(schema, table, key);
  const hint = close === undefined ? '' : ` (did you mean "${close}"?)`;
  return isFirst ? `no such key; expected in ${where}: ${known.join(', ')}${hint}` : `no such key${hint}`;
}

interface Node {
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  anyOf?: Node[];
}

function nodeAt(schema: Node, table: KeyPath): Node | undefined {
  let node: Node | undefined = schema;
  for (const part of table) {
    const open: Node | boolean | undefined = node?.additionalProperties;
    node = node?.properties?.[String(part)] ?? (typeof open === 'object' ? open : undefined);
  }
  return node;
}

function keysAt(schema: Node, table: KeyPath): string[] {
  const node = nodeAt(schema, table);
  return [node, ...(node?.anyOf ?? [])].flatMap((one) => Object.keys(one?.properties ?? {}));
}

/** The full name of a key that belongs in another table, or at the top level. */
function sectionWithKey(schema: Node, table: KeyPath, key: string): string | undefined {
  const sections = keysAt(schema, []);
  for (const section of sections)
    if (keysAt(schema, [section]).includes(key) && section !== table[0]) return `${section}.${key}`;
  return sections.includes(key) ? key : undefined;
}

/** The JSON Schema of the user's file, in the dialect that editors know for TOML and for YAML. */
export const fileJsonSchema = (): Record<string, unknown> =>
  z.toJSONSchema(fileSchema, { io: 'input', target: 'draft-7' });
