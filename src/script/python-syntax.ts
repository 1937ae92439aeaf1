import { childOf, parsePython, type PythonNode } from './python-tree.ts';

export interface Argument {
  /** Of a keyword argument. */
  name?: string;
  /** `*` or `**` before it. */
  star?: string;
  value: PythonNode;
}

export interface Call {
  node: PythonNode;
  /** Its dotted name with imports resolved, `numpy.save` for `np.save`; `.save` if it is called on no plain name. */
  name: string;
  /** As written. */
  shown: string;
  line: number;
  args: Argument[];
  /** What a method is called on. */
  receiver?: PythonNode;
  /** An import brings it. */
  isImported: boolean;
}

export interface Parameter {
  name: string;
  standard?: PythonNode;
  type?: PythonNode;
  node: PythonNode;
}

export interface PythonFunction {
  /** Of `__init__`, the name of its class. */
  name: string;
  /** The class of a method. */
  owner?: string;
  node: PythonNode;
  /** Without `self`. */
  parameters: Parameter[];
  /** What it returns; undefined if there are several. */
  returned?: PythonNode;
}

/** `name = value`; without a value if a loop or a pattern assigns it. */
export interface PythonAssignment {
  /** `self.x` for an attribute. */
  name: string;
  value: PythonNode;
  node: PythonNode;
}

/** The calls, functions and assignments of a file. */
export interface Syntax {
  nodes: readonly PythonNode[];
  calls: Call[];
  callOf: ReadonlyMap<PythonNode, Call>;
  functions: PythonFunction[];
  functionOf: ReadonlyMap<PythonNode, PythonFunction>;
  assignments: PythonAssignment[];
  /** What an imported name stands for: `numpy` for `np`. */
  aliases: ReadonlyMap<string, string>;
}

/** What stands under `if __name__ == "__main__"` is left out of a file that others import. */
export function readSyntax(text: string, isImported = false): Syntax {
  const nodes = parsePython(text, isImported);
  const ofKind = (...kinds: readonly string[]): PythonNode[] =>
    nodes.filter(({ kind }) => kinds.includes(kind));
  const aliases = new Map(ofKind('ImportStatement').flatMap(aliasesOf));
  const calls = ofKind('CallExpression', 'Decorator').flatMap((node) => callIn(node, aliases));
  const returns = Map.groupBy(ofKind('ReturnStatement'), ({ scope }) => scope);
  const functions = ofKind('FunctionDefinition').map((node) => functionIn(node, returns.get(node) ?? []));
  return {
    nodes,
    calls,
    callOf: new Map(calls.map((call) => [call.node, call])),
    functions,
    functionOf: new Map(functions.map((one) => [one.node, one])),
    assignments: ofKind('AssignStatement', 'NamedExpression', 'WithStatement').flatMap(assigned),
    aliases,
  };
}

/** `a.b.c`; undefined for what is no plain name. */
export function dottedName(node: PythonNode | undefined): string | undefined {
  if (node?.kind === 'VariableName') return node.text;
  const [object, dot, name] = node?.kind === 'MemberExpression' ? node.children : [];
  const before = dot?.kind === '.' ? dottedName(object) : undefined;
  return before === undefined || name === undefined ? undefined : `${before}.${name.text}`;
}

/** The parts of a list, without its commas. */
const listParts = (children: readonly PythonNode[]): PythonNode[][] => {
  const parts: PythonNode[][] = [[]];
  for (const child of children)
    if (child.kind === ',') parts.push([]);
    else if (!/^([()[\]{}]|Comment)$/.test(child.kind)) parts.at(-1)?.push(child);
  return parts.filter((part) => part.length > 0);
};

/** The elements of a tuple or list; of anything else, itself. */
export const elementsOf = (node: PythonNode): PythonNode[] =>
  /^(Tuple|Array|Set)Expression$/.test(node.kind)
    ? listParts(node.children).flatMap(([first]) => first ?? [])
    : node.kind === 'ParenthesizedExpression'
      ? node.children[1] === undefined
        ? []
        : elementsOf(node.children[1])
      : [node];

function callIn(node: PythonNode, aliases: ReadonlyMap<string, string>): Call[] {
  const list = childOf(node, 'ArgList');
  const names = node.children.filter(({ kind }) => /^(VariableName|PropertyName)$/.test(kind));
  const called = node.kind === 'Decorator' ? node : node.children[0];
  const last = names.at(-1) ?? called?.children.at(-1);
  if (list === undefined || called === undefined || last === undefined) return [];
  const plain = node.kind === 'Decorator' ? names.map(({ text }) => text).join('.') : dottedName(called);
  const [first = '', ...rest] = (plain ?? '').split('.');
  const isMethod = called.kind === 'MemberExpression' && called.children[1]?.kind === '.';
  if (plain === undefined && !isMethod) return [];
  const [receiver] = called.children;
  return [
    {
      node,
      name: plain === undefined ? `.${last.text}` : [aliases.get(first) ?? first, ...rest].join('.'),
      shown: plain ?? last.text,
      line: last.line,
      args: listParts(list.children).flatMap(argumentIn),
      isImported: plain !== undefined && aliases.has(first),
      ...(isMethod && receiver !== undefined && { receiver }),
    },
  ];
}

function argumentIn([first, second, third]: readonly PythonNode[]): Argument[] {
  if (first === undefined) return [];
  if (second?.kind === 'AssignOp' && third !== undefined) return [{ name: first.text, value: third }];
  if (first.kind.startsWith('*')) return second === undefined ? [] : [{ star: first.kind, value: second }];
  return [{ value: first }];
}

function functionIn(node: PythonNode, returns: readonly PythonNode[]): PythonFunction {
  const name = childOf(node, 'VariableName')?.text ?? '';
  const around = node.parent?.parent;
  const owner = around?.kind === 'ClassDefinition' ? childOf(around, 'VariableName')?.text : undefined;
  const parameters = listParts(childOf(node, 'ParamList')?.children ?? [])
    .map((part) => part.filter(({ kind }) => !kind.startsWith('*')))
    .flatMap((part): Parameter[] => {
      const [own] = part;
      if (own === undefined) return [];
      const equals = part.findIndex(({ kind }) => kind === 'AssignOp');
      const [standard, type] = [
        equals < 0 ? undefined : part[equals + 1],
        part.find(({ kind }) => kind === 'TypeDef'),
      ];
      return [{ name: own.text, node: own, ...(standard && { standard }), ...(type && { type }) }];
    });
  const [only] = returns.length === 1 ? returns : [];
  const returned = only?.children[1];
  return {
    name: (name === '__init__' ? owner : undefined) ?? name,
    ...(owner !== undefined && { owner }),
    node,
    parameters: /^(self|cls)$/.test(parameters[0]?.name ?? '') ? parameters.slice(1) : parameters,
    ...(returned !== undefined && { returned }),
  };
}

/** `a.b: type = value`, `a = b = value`, `a, b = one, other`, `with value as name`. */
function assigned(node: PythonNode): PythonAssignment[] {
  const { children, kind } = node;
  if (kind === 'WithStatement')
    return children.flatMap((child, at) => {
      const [value, target] = [children[at - 1], children[at + 1]];
      const name = dottedName(target);
      return child.kind !== 'as' || value === undefined || name === undefined ? [] : [{ name, value, node }];
    });
  const groups: PythonNode[][] = [[]];
  for (const child of children)
    if (child.kind === 'AssignOp') groups.push([]);
    else if (child.kind !== ',' && child.kind !== 'TypeDef') groups.at(-1)?.push(child);
  const values = groups.length < 2 ? [] : (groups.pop() ?? []);
  const all = values.flatMap((value) =>
    groups.some((names) => names.length > 1) ? elementsOf(value) : [value],
  );
  return groups.flatMap((names) => {
    const targets = names.flatMap((one) =>
      /^(Tuple|Array|Parenthesized)/.test(one.kind) ? elementsOf(one) : [one],
    );
    return targets.flatMap((target, at): PythonAssignment[] => {
      const [name, value] = [dottedName(target), targets.length === all.length ? all[at] : undefined];
      return name === undefined || value === undefined ? [] : [{ name, value, node }];
    });
  });
}

/** What an import names, each with the name that it gets here. */
export function importedNames({ children }: PythonNode): {
  module?: string;
  names: [own: string, name: string][];
} {
  const at = children.findIndex(({ kind }) => kind === 'import');
  const names = listParts(children.slice(at + 1)).map((part): [string, string] => {
    const as = part.findIndex(({ kind }) => kind === 'as');
    const name = joinedText(as < 0 ? part : part.slice(0, as));
    return [as < 0 ? name : (part[as + 1]?.text ?? name), name];
  });
  return at === 0 ? { names } : { module: joinedText(children.slice(1, at)), names };
}

const aliasesOf = (node: PythonNode): [string, string][] => {
  const { module, names } = importedNames(node);
  return names.map(([own, name]) => [own, module === undefined ? name : `${module}.${name}`]);
};

const joinedText = (nodes: readonly PythonNode[]): string => nodes.map(({ text }) => text).join('');
