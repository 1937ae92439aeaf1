/** A sentence as lines of at most `width` characters, unless a word is longer; `first` and `rest` begin them. */
export function wrap(text: string, width: number, first: string, rest: string): string[] {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(' ')) {
    const isEmpty = line === first || line === rest;
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = rest + word;
    } else line = isEmpty ? line + word : `${line} ${word}`;
  }
  return [...lines, line];
}
