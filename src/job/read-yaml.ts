import { isMap, isNode, isScalar, isSeq, parseDocument } from 'yaml';
import { placeKey, type KeyPath, type Place, type SourceFile, type SpecProblem } from './source-file.ts';

/** Reads YAML into values and their places; what is not YAML becomes located problems. */
export function readYaml(text: string, file: string): SourceFile {
  const document = parseDocument(text, { prettyErrors: false, stringKeys: true });
  // Counted here: the parser's own counter knows only the lines it got to.
  const placeOf = (offset: number): Place => {
    const before = text.slice(0, offset).split('\n');
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  };
  const problems: SpecProblem[] = [...document.errors, ...document.warnings].map((error) => {
    const twice = error.code === 'DUPLICATE_KEY';
    const message = twice ? 'is there twice; remove one of the two' : notYaml(error.message);
    return {
      file,
      ...placeOf(error.pos[0]),
      key: twice ? (/^[^:\n]*/.exec(text.slice(error.pos[0]))?.[0] ?? '') : '',
      message,
    };
  });
  const places: SourceFile['places'] = new Map();
  notePlaces(document.contents, [], places, placeOf);
  const readable = document.errors.every((error) => error.code === 'DUPLICATE_KEY');
  try {
    return { file, value: readable ? (document.toJS() ?? {}) : undefined, places, problems };
  } catch (error) {
    const message = notYaml(error instanceof Error ? error.message : String(error));
    return { file, value: undefined, places, problems: [{ file, line: 1, column: 1, key: '', message }] };
  }
}

const notYaml = (reason: string): string =>
  `this is not valid YAML (${reason.charAt(0).toLowerCase()}${reason.slice(1)})`;

function notePlaces(
  node: unknown,
  path: KeyPath,
  places: SourceFile['places'],
  placeOf: (offset: number) => Place,
): void {
  if (isMap(node))
    for (const { key, value } of node.items) {
      if (!isScalar(key) || !key.range) continue;
      const inner = [...path, String(key.value)];
      const at = placeOf(key.range[0]);
      const range = isNode(value) && !isMap(value) ? value.range : undefined;
      places.set(placeKey(inner), { key: at, value: range ? placeOf(range[0]) : at });
      notePlaces(value, inner, places, placeOf);
    }
  if (!isSeq(node)) return;
  for (const [index, item] of node.items.entries()) {
    if (!isNode(item) || !item.range) continue;
    const at = placeOf(item.range[0]);
    places.set(placeKey([...path, index]), { key: at, value: at });
    notePlaces(item, [...path, index], places, placeOf);
  }
}
