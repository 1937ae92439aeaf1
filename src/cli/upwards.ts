import path from 'node:path';

/** A folder and those above it. */
export function* upwards(from: string): Generator<string> {
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    yield folder;
    if (folder === path.dirname(folder)) return;
  }
}
