import type { DroppedFile } from './messages.ts';

/** More files than this are not looked at: someone dropped a home folder. */
const maxFiles = 20_000;

export interface FoundFiles {
  files: DroppedFile[];
  /** Folders in the drop, empty ones too; a dialog names none. */
  folders: string[];
  /** Names of what could not be opened. */
  unread: string[];
  /** There were more files than are looked at. */
  isCut: boolean;
}

/** The files of an input element, by their names in the chosen folder. */
export function chosenFiles(list: FileList | null): FoundFiles {
  const all = [...(list ?? [])];
  const files = all.slice(0, maxFiles).map((file) => dropped(file, file.webkitRelativePath));
  return { files, folders: [], unread: [], isCut: all.length > maxFiles };
}

/** Everything in a drop, folders included. Items are empty after the event: each is asked before the first `await`. */
export async function droppedFiles({ items }: DataTransfer): Promise<FoundFiles> {
  const taken = [...items].map((item) => {
    const entry = item.webkitGetAsEntry();
    // On a page from `file:`, Chromium opens no entry. A file is there without it, a folder has a handle.
    if (entry?.isDirectory !== true) return item.getAsFile();
    const handle = (item as { getAsFileSystemHandle?: () => Promise<FileSystemHandle | null> })
      .getAsFileSystemHandle?.()
      .catch(() => null);
    return { entry: entry as FileSystemDirectoryEntry, handle };
  });
  const found: FoundFiles = { files: [], folders: [], unread: [], isCut: false };
  for (const one of taken)
    if (one instanceof File) add(found, one, '');
    else if (one !== null) {
      const handle = await one.handle;
      if (handle?.kind === 'directory')
        await addHandle(handle as FileSystemDirectoryHandle, handle.name, found);
      else await addEntry(one.entry, found);
    }
  found.files.sort((a, b) => (a.name < b.name ? -1 : 1));
  return found;
}

function add(found: FoundFiles, file: File, path: string): void {
  if (found.files.length < maxFiles) found.files.push(dropped(file, path));
  else found.isCut = true;
}

/** What cannot be opened must not hide the rest: a dangling link, a folder of someone else. */
async function attempt(
  found: FoundFiles,
  path: string,
  isFolder: boolean,
  act: () => Promise<void>,
): Promise<void> {
  if (found.isCut) return;
  if (isFolder) found.folders.push(path);
  await act().catch(() => found.unread.push(path));
}

const addHandle = (
  handle: FileSystemDirectoryHandle | FileSystemFileHandle,
  path: string,
  found: FoundFiles,
): Promise<void> =>
  attempt(found, path, handle.kind === 'directory', async () => {
    if (handle.kind === 'file') add(found, await handle.getFile(), path);
    else for await (const inner of handle.values()) await addHandle(inner, `${path}/${inner.name}`, found);
  });

const addEntry = (entry: FileSystemEntry, found: FoundFiles): Promise<void> =>
  attempt(found, entry.fullPath.replace(/^\//, ''), entry.isDirectory, async () => {
    if (entry.isDirectory)
      for (const inner of await listed(entry as FileSystemDirectoryEntry)) await addEntry(inner, found);
    else {
      const file = await new Promise<File>((resolve, reject) =>
        (entry as FileSystemFileEntry).file(resolve, reject),
      );
      add(found, file, entry.fullPath.replace(/^\//, ''));
    }
  });

/** A reader returns a hundred entries at a time. */
async function listed(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0 || all.length > maxFiles) return all;
    all.push(...some);
  }
}

const dropped = (file: File, path: string): DroppedFile => ({
  name: path === '' ? file.name : path,
  blob: file,
  writtenAt: file.lastModified,
});
