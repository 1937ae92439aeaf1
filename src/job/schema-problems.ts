import type { z } from 'zod';
import { nearest } from '../base/nearest.ts';
import { fileJsonSchema } from './json-schema.ts';
import {
  problemAt,
  problemAtKey,
  showKey,
  type KeyPath,
  type SourceFile,
  type SpecProblem,
} from './source-file.ts';

/** What other tools call our keys: users bring these words along. */
const otherWords: Record<string, string> = {
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

/** The schema's complaints as located problems, one for each key. */
export function schemaProblems(error: z.ZodError, source: SourceFile): SpecProblem[] {
  const problems: SpecProblem[] = [];
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys)
        problems.push(problemAtKey(source, [...issue.path, key], unknownKey(issue.path, key)));
    else if (issue.code === 'invalid_key')
      problems.push(problemAtKey(source, issue.path, issue.issues[0]?.message ?? issue.message));
    else problems.push(problemAt(source, issue.path, issue.message));
  }
  const seen = new Set<string>();
  return problems.filter(({ key }) => !seen.has(key) && seen.add(key));
}

function unknownKey(table: KeyPath, key: string): string {
  const known = keysAt(table);
  const where = table.length === 0 ? 'the top of the file' : `[${showKey(table)}]`;
  const close = nearest(key, known) ?? otherWords[key.toLowerCase()] ?? elsewhere(table, key);
  const hint = close === undefined ? '' : ` (did you mean "${close}"?)`;
  return `no such key; expected at ${where}: ${known.join(', ')}${hint}`;
}

interface Node {
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  anyOf?: Node[];
}

function nodeAt(table: KeyPath): Node | undefined {
  let node: Node | undefined = fileJsonSchema();
  for (const part of table) {
    const open: Node | boolean | undefined = node?.additionalProperties;
    node = node?.properties?.[String(part)] ?? (typeof open === 'object' ? open : undefined);
  }
  return node;
}

function keysAt(table: KeyPath): string[] {
  const node = nodeAt(table);
  return [node, ...(node?.anyOf ?? [])].flatMap((one) => Object.keys(one?.properties ?? {}));
}

/** A key that belongs into another table, or that stands in a table that should not be there. */
function elsewhere(table: KeyPath, key: string): string | undefined {
  for (const section of keysAt([]))
    if (keysAt([section]).includes(key) && section !== table[0]) return `${section}.${key}`;
  return keysAt([]).includes(key) ? key : undefined;
}
