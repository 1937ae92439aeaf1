/**
 * Small files in the run's folder on the access point that all attempts of a run share, also while they run: what one
 * has learnt, the others can read. They are `notes/<folder>/<name>` there, whatever the pool; folders are named in
 * `noteFolders` of `job/layout.ts`. In HTCondor's sandbox they travel over chirp, on the local pool they are plain
 * files.
 *
 *     await attempt.shared.put('brakes/3f2a…', JSON.stringify({ until: 1794719763000 }));
 *     for (const name of await attempt.shared.list('brakes')) await attempt.shared.read(`brakes/${name}`);
 *
 * A note is whole or not there, and a later one of the same name replaces it. Nothing here throws or takes long: where
 * there is no way to the access point, nothing is kept and nothing is found. Nobody may depend on a note, and whoever
 * reads one judges it as text that any job of the user may have written.
 */
export interface SharedNotes {
  /** Writes the note `folder/name`; false when it could not be. */
  put(note: string, text: string): Promise<boolean>;
  /** Names of the notes in a folder, sorted. */
  list(folder: string): Promise<string[]>;
  /** The text of the note `folder/name`, if there is one. */
  read(note: string): Promise<string | undefined>;
}
