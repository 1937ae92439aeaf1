import type { AST } from 'toml-eslint-parser';

/** The line in which each key of a TOML file is given a value, and each item of a list; by their path, as JSON. */
export function tomlLines({ body: [top] }: AST.TOMLProgram): Map<string, number> {
  const lines = new Map<string, number>();
  for (const node of top.body)
    if (node.type === 'TOMLKeyValue') noteValue(node, [], lines);
    else for (const inner of node.body) noteValue(inner, node.resolvedKey, lines);
  return lines;
}

function noteValue(node: AST.TOMLKeyValue, above: (string | number)[], lines: Map<string, number>): void {
  const keys = node.key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value));
  const path = [...above, ...keys];
  lines.set(JSON.stringify(path), node.loc.start.line);
  if (node.value.type === 'TOMLInlineTable')
    for (const inner of node.value.body) noteValue(inner, path, lines);
  if (node.value.type === 'TOMLArray')
    for (const [index, item] of node.value.elements.entries())
      lines.set(JSON.stringify([...path, index]), item.loc.start.line);
}
