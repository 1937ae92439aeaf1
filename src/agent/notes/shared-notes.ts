import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileSize, succeeds } from '@updraft/base';
import { ensureFolder, replaceFile } from '@updraft/base/disk';
import type { WorkOrder } from '../../job/job.ts';
import { runFiles } from '@updraft/account/run-folder';
import type { Chirp } from './chirp.ts';

/**
 * Small files in the run's folder on the access point, shared by all attempts of a run while they run: what one has
 * learnt, the others can read. They are `notes/<folder>/<name>` there on every pool; the folders are named in
 * `noteFolders` of `job/layout.ts`. In HTCondor's sandbox they travel over chirp; on the local pool they are plain
 * files.
 *
 *     await attempt.shared.put('brakes/3f2a…', JSON.stringify({ until: 1794719763000 }));
 *     for (const name of await attempt.shared.list('brakes')) await attempt.shared.read(`brakes/${name}`);
 *
 * A note is complete or absent, and a later one of the same name replaces it. Nothing here throws or takes long: if
 * the access point cannot be reached, nothing is stored and nothing is found. Nothing may depend on a note, and its
 * reader must treat it as text that any job of the user may have written.
 */
export interface SharedNotes {
  /** Writes the note `folder/name`; false on failure. */
  put(record: string, text: string): Promise<boolean>;
  /** Names of the notes in a folder, sorted. */
  list(folder: string): Promise<string[]>;
  /** The text of the note `folder/name`, if there is one. */
  read(record: string): Promise<string | undefined>;
}

/** The run's notes: over the sandbox's connection to the access point, or in the folder that the order names. */
export const openSharedNotes = ({ notesFolder }: WorkOrder, chirp: Chirp | undefined): SharedNotes =>
  // Nothing can be below a file.
  chirp === undefined ? folderNotes(notesFolder ?? '/dev/null') : chirpNotes(chirp);

/** Notes of a run whose folder is on this machine's disk. */
export const folderNotes = (root: string): SharedNotes => ({
  async put(record, text) {
    const place = splitNoteName(record);
    if (place === undefined || !isNoteText(text)) return false;
    const folder = path.join(root, place.folder);
    const made = ensureFolder(root).then(() => ensureFolder(folder));
    return await succeeds(made.then(() => replaceFile(path.join(folder, place.name), text)));
  },

  async list(folder) {
    if (!isFolderName(folder)) return [];
    const names = await readdir(path.join(root, folder)).catch(() => []);
    return names.filter(isFolderName).sort();
  },

  async read(record) {
    const file = path.join(root, record);
    // A job may have put something else there: to open a pipe, one waits for its other end.
    if (splitNoteName(record) === undefined || ((await fileSize(file)) ?? Infinity) > maxNote)
      return undefined;
    return await readFile(file, 'utf8').catch(() => undefined);
  },
});

/** Permissions as chirp takes them, in decimal. */
const folderMode = String(0o755);
const fileMode = String(0o644);
/** Chirp's reply if the name is taken. */
const alreadyThere = -4;

/** Notes over chirp. Opened, written and closed: its `putfile` to an unwritable place costs the attempt. */
function chirpNotes(chirp: Chirp): SharedNotes {
  const made = new Set<string>();
  const make = async (folder: string): Promise<boolean> => {
    for (const path of made.has(folder) ? [] : [runFiles.notes, `${runFiles.notes}/${folder}`]) {
      const code = (await chirp.ask(['mkdir', path, folderMode]))?.code;
      if (code !== 0 && code !== alreadyThere) return false;
    }
    made.add(folder);
    return true;
  };
  return {
    async put(record, text) {
      const place = splitNoteName(record);
      if (place === undefined || !isNoteText(text) || !(await make(place.folder))) return false;
      const folder = `${runFiles.notes}/${place.folder}`;
      const draft = `${folder}/.${place.name}.${randomBytes(4).toString('hex')}`;
      const opened = await chirp.ask(['open', draft, 'wct', fileMode], 'line');
      if (opened === undefined || opened.code < 0) return false;
      const file = String(opened.code);
      const bytes = Buffer.byteLength(text);
      const written = await chirp.ask(['write', file, String(bytes)], 'nothing', text);
      const closed = await chirp.ask(['close', file]);
      if (written?.code === bytes && closed?.code === 0)
        return (await chirp.ask(['rename', draft, `${folder}/${place.name}`]))?.code === 0;
      await chirp.ask(['unlink', draft]);
      return false;
    },

    async list(folder) {
      if (!isFolderName(folder)) return [];
      const answer = await chirp.ask(['getdir', `${runFiles.notes}/${folder}`], 'bytes');
      return (answer?.text ?? '').split('\n').filter(isFolderName).sort();
    },

    async read(record) {
      if (splitNoteName(record) === undefined) return undefined;
      const answer = await chirp.ask(['getfile', `${runFiles.notes}/${record}`], 'bytes');
      return answer === undefined || answer.code < 0 ? undefined : answer.text;
    },
  };
}

/** Longer notes are refused: they load the access point. */
const maxNote = 4000;

/** Whether it can name a folder of notes, or a note: it cannot lead elsewhere, and needs no quoting. */
const isFolderName = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text);

/** The folder and the name of a note; undefined if they are not safe. */
function splitNoteName(record: string): { folder: string; name: string } | undefined {
  const [folder = '', name = '', more] = record.split('/');
  return isFolderName(folder) && isFolderName(name) && more === undefined ? { folder, name } : undefined;
}

/** Whether the note can be stored. An empty one would look like one that is being written. */
const isNoteText = (text: string): boolean => text !== '' && Buffer.byteLength(text) <= maxNote;
