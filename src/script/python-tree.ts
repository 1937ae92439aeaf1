import { parser } from '@lezer/python';

/** What is nested deeper is data, or no Python. */
const deepest = 150;

/** A node of a parsed Python file; its kinds are those of Lezer's grammar. */
export interface PythonNode {
  kind: string;
  from: number;
  to: number;
  text: string;
  /** Starts at 1. */
  line: number;
  children: PythonNode[];
  parent: PythonNode | undefined;
  depth: number;
  /** The function around it. */
  scope: PythonNode | undefined;
}

/** All nodes of a Python file in their order, the whole file first. Any text is accepted, in linear time. */
export function parsePython(source: string, isImported = false): PythonNode[] {
  const nodes: PythonNode[] = [];
  const lineEnds = [...source.matchAll(/\r?\n|\r/g)].map(({ index }) => index);
  let [line, parent]: [number, PythonNode | undefined] = [0, undefined];
  parser.parse(source).iterate({
    enter: ({ name: kind, from, to }) => {
      while ((lineEnds[line] ?? Infinity) < from) line += 1;
      const scope = parent?.kind === 'FunctionDefinition' ? parent : parent?.scope;
      const depth = (parent?.depth ?? 0) + 1;
      if (isImported && /^if\s*\(?__name__\s*==/.test(source.slice(from, from + 99))) return false;
      const node = {
        kind,
        from,
        to,
        text: source.slice(from, to),
        line: line + 1,
        children: [],
        parent,
        depth,
        scope,
      };
      nodes.push(node);
      parent?.children.push(node);
      if (depth < deepest) parent = node;
      return depth < deepest;
    },
    leave: () => {
      parent = parent?.parent;
    },
  });
  return nodes;
}

export const childOf = ({ children }: PythonNode, kind: string): PythonNode | undefined =>
  children.find((child) => child.kind === kind);

/** What stands between the quotes of a string, escapes as written; its prefix in lower case. */
export function stringParts({ text: all }: PythonNode): { text: string; prefix: string; quote: string } {
  const [start = '', prefix = '', quote = ''] = /^([A-Za-z]*)("""|'''|"|')/.exec(all) ?? [];
  const end = all.length > start.length && all.endsWith(quote) ? all.length - quote.length : all.length;
  return { text: all.slice(start.length, end), prefix: prefix.toLowerCase(), quote };
}

export const isString = ({ kind }: PythonNode): boolean => kind === 'String' || kind === 'FormatString';
