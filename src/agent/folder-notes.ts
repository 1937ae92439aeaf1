import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isFolderName, isNoteText, splitNoteName } from './note-name.ts';
import type { SharedNotes } from './shared-notes.ts';

/** Notes of a run whose folder is on this machine's disk. */
export class FolderNotes implements SharedNotes {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(note: string, text: string): Promise<boolean> {
    const place = splitNoteName(note);
    if (place === undefined || !isNoteText(text)) return false;
    const folder = path.join(this.#root, place.folder);
    const draft = path.join(folder, `.${place.name}.${randomBytes(4).toString('hex')}`);
    try {
      await mkdir(folder, { recursive: true });
      await writeFile(draft, text);
      await rename(draft, path.join(folder, place.name));
      return true;
    } catch {
      return false;
    }
  }

  async list(folder: string): Promise<string[]> {
    if (!isFolderName(folder)) return [];
    const names = await readdir(path.join(this.#root, folder)).catch(() => []);
    return names.filter(isFolderName).sort();
  }

  async read(note: string): Promise<string | undefined> {
    if (splitNoteName(note) === undefined) return undefined;
    return await readFile(path.join(this.#root, note), 'utf8').catch(() => undefined);
  }
}
