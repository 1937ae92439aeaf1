/** What is at a path on the access point. */
export interface FileFact {
  kind: 'file' | 'folder' | 'missing';
  /** Of a file; 0 for a folder, since nothing below it is looked at. */
  bytes: number;
  /** Undefined where it is unknown. */
  isExecutable?: boolean;
}

/** One entry of a folder. */
export interface ListedName {
  name: string;
  isFolder: boolean;
}

/**
 * The files that a submit file can name, by the names it uses: absolute, or relative to the folder where
 * `condor_submit` runs. Nothing is walked: only what the submit file names is asked for.
 */
export interface SubmitFiles {
  /** The text of a regular file; undefined where it cannot be read or is too large. */
  read(name: string): string | undefined;
  /** Undefined where it is unknown whether there is such a file. */
  stat(name: string): FileFact | undefined;
  /** A folder's own entries; undefined where they are unknown or too many. */
  list(folder: string): readonly ListedName[] | undefined;
}
