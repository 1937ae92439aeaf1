import { randomBytes } from 'node:crypto';
import { runFiles } from '../job/layout.ts';
import type { Chirp } from './chirp.ts';
import { isFolderName, isNoteText, splitNoteName } from './note-name.ts';
import type { SharedNotes } from './shared-notes.ts';

/** Permissions as chirp writes them, in decimal. */
const folderMode = String(0o755);
const fileMode = String(0o644);
/** Chirp's answer that the name is taken. */
const alreadyThere = -4;

/**
 * Notes over chirp, by paths in the folder the job was submitted from. Files are opened, written and closed: chirp's
 * `putfile` into a place that cannot be written cuts the job off from its shadow, and the attempt is lost.
 */
export class ChirpNotes implements SharedNotes {
  readonly #chirp: Chirp;
  readonly #made = new Set<string>();

  constructor(chirp: Chirp) {
    this.#chirp = chirp;
  }

  async put(note: string, text: string): Promise<boolean> {
    const place = splitNoteName(note);
    if (place === undefined || !isNoteText(text) || !(await this.#make(place.folder))) return false;
    const folder = `${runFiles.notes}/${place.folder}`;
    const draft = `${folder}/.${place.name}.${randomBytes(4).toString('hex')}`;
    const opened = await this.#chirp.ask(['open', draft, 'wct', fileMode], 'line');
    if (opened === undefined || opened.code < 0) return false;
    const file = String(opened.code);
    const bytes = Buffer.byteLength(text);
    const written = await this.#chirp.ask(['write', file, String(bytes)], 'nothing', text);
    const closed = await this.#chirp.ask(['close', file]);
    if (written?.code !== bytes || closed?.code !== 0) {
      await this.#chirp.ask(['unlink', draft]);
      return false;
    }
    return (await this.#chirp.ask(['rename', draft, `${folder}/${place.name}`]))?.code === 0;
  }

  async list(folder: string): Promise<string[]> {
    if (!isFolderName(folder)) return [];
    const answer = await this.#chirp.ask(['getdir', `${runFiles.notes}/${folder}`], 'bytes');
    return (answer?.text ?? '').split('\n').filter(isFolderName).sort();
  }

  async read(note: string): Promise<string | undefined> {
    if (splitNoteName(note) === undefined) return undefined;
    const answer = await this.#chirp.ask(['getfile', `${runFiles.notes}/${note}`], 'bytes');
    return answer === undefined || answer.code < 0 ? undefined : answer.text;
  }

  async #make(folder: string): Promise<boolean> {
    if (this.#made.has(folder)) return true;
    for (const path of [runFiles.notes, `${runFiles.notes}/${folder}`]) {
      const code = (await this.#chirp.ask(['mkdir', path, folderMode]))?.code;
      if (code !== 0 && code !== alreadyThere) return false;
    }
    this.#made.add(folder);
    return true;
  }
}
