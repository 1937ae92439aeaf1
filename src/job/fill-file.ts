import { parameterPattern } from '@updraft/account/parameters';
import { type KeyPath, valueAt } from './source-file.ts';
import type { Scalar } from './spec.ts';

/** Keys and tables that a matrix fills before the schema reads them, besides the texts that `expand.ts` fills. */
const filledKeys: readonly KeyPath[] = [
  ['data'],
  ['environment'],
  ['resources'],
  ['run', 'requirements'],
  ...['checkpoint', 'checkpoint_keep', 'checkpoint_every', 'quiet_limit', 'idle_limit', 'slow_limit'].map(
    (key) => ['train', key],
  ),
];

/** `{name}`; `{{name}}` stands for itself, and other braces, as expressions have, mean nothing. */
const placeholder = new RegExp(String.raw`\{\{(${parameterPattern})\}\}|\{(${parameterPattern})\}`, 'g');
const wholePlaceholder = new RegExp(String.raw`^\{(${parameterPattern})\}$`);

/** The texts in those keys that have placeholders, with the names in them. */
export function filledTexts(value: unknown): { at: KeyPath; names: string[] }[] {
  const found: { at: KeyPath; names: string[] }[] = [];
  const visit = (inner: unknown, at: KeyPath): void => {
    if (typeof inner === 'string') {
      const names = [...inner.matchAll(placeholder)].flatMap(([, , name]) => name ?? []);
      if (names.length > 0) found.push({ at, names });
    } else if (isNested(inner))
      for (const [key, one] of Object.entries(inner))
        visit(one, [...at, Array.isArray(inner) ? Number(key) : key]);
  };
  for (const at of filledKeys) visit(valueAt(value, at), at);
  return found;
}

/**
 * The file's values with those keys filled. A text that is one placeholder becomes the value itself: a number stays
 * one, and "" leaves the key out.
 */
export function fillFile(value: unknown, values: Readonly<Record<string, Scalar>>): unknown {
  const filled = structuredClone(value);
  // From the end, so that what is left out of a list moves nothing that is still to be filled.
  for (const { at } of filledTexts(value).reverse()) {
    const table = valueAt(filled, at.slice(0, -1)) as Record<PropertyKey, unknown>;
    const last = at.at(-1) ?? '';
    const made = fillValue(String(table[last]), values);
    if (made !== '') table[last] = made;
    else if (Array.isArray(table)) table.splice(Number(last), 1);
    else Reflect.deleteProperty(table, last);
  }
  return filled;
}

/** The name in a text that is nothing but its placeholder. */
export const onlyPlaceholder = (text: string): string | undefined => wholePlaceholder.exec(text)?.[1];

function fillValue(text: string, values: Readonly<Record<string, Scalar>>): Scalar {
  const only = onlyPlaceholder(text);
  if (only !== undefined) return values[only] ?? text;
  return text.replace(placeholder, (whole, literal: string | undefined, name: string) =>
    literal === undefined ? String(values[name] ?? whole) : `{${literal}}`,
  );
}

const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof Date);

interface SchemaNode {
  type?: string;
  enum?: unknown[];
  pattern?: string;
  description?: string;
  default?: unknown;
  properties?: Record<string, SchemaNode>;
  additionalProperties?: SchemaNode | boolean;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
}

/** The JSON Schema of the file for editors, which see the values before they are filled. */
export function withPlaceholders(schema: SchemaNode): SchemaNode {
  const changed = structuredClone(schema);
  for (const at of filledKeys) {
    const parent = at
      .slice(0, -1)
      .reduce<SchemaNode>((node, key) => node.properties?.[String(key)] ?? {}, changed);
    const name = String(at.at(-1));
    const node = parent.properties?.[name];
    if (parent.properties !== undefined && node !== undefined) parent.properties[name] = mayBeFilled(node);
  }
  return changed;
}

function mayBeFilled(node: SchemaNode): SchemaNode {
  const { properties, additionalProperties: open, items, anyOf } = node;
  if (properties !== undefined) return { ...node, properties: mapNodes(properties) };
  if (typeof open === 'object') return { ...node, additionalProperties: mayBeFilled(open) };
  if (items !== undefined) return { ...node, items: mayBeFilled(items) };
  if (anyOf !== undefined) return { ...node, anyOf: anyOf.map(mayBeFilled) };
  if (node.type === 'string' && node.enum === undefined && node.pattern === undefined) return node;
  const { description, default: preset, ...value } = node;
  const placeholderText = { type: 'string', pattern: String.raw`\{${parameterPattern}\}` };
  return {
    ...(description !== undefined && { description }),
    ...(preset !== undefined && { default: preset }),
    anyOf: [value, placeholderText],
  };
}

const mapNodes = (nodes: Record<string, SchemaNode>): Record<string, SchemaNode> =>
  Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, mayBeFilled(node)]));
