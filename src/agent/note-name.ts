/** Longer notes are refused: they pass through the access point, which has better things to do. */
const longestNote = 4000;

const part = '[A-Za-z0-9][A-Za-z0-9._-]{0,99}';

/** Whether it can name a folder of notes, or a note in it: no way leads out, and nothing needs quoting. */
export const isFolderName = (text: string): boolean => new RegExp(`^${part}$`).test(text);

/** The folder and the name of a note, or undefined when they are not safe. */
export function splitNoteName(note: string): { folder: string; name: string } | undefined {
  const [folder = '', name = '', ...more] = note.split('/');
  return isFolderName(folder) && isFolderName(name) && more.length === 0 ? { folder, name } : undefined;
}

/** Whether the note can be kept at all. An empty one could not be told from one that is being written. */
export const isNoteText = (text: string): boolean => text !== '' && Buffer.byteLength(text) <= longestNote;
