import type { DroppedFile } from './messages.ts';

/** More files than this are not looked at: someone dropped a home folder. */
const maxFiles = 20_000;

/** The files of an input element, by their names in the chosen folder. */
export const chosenFiles = (files: FileList | null): DroppedFile[] =>
  [...(files ?? [])].slice(0, maxFiles).map((file) => dropped(file, file.webkitRelativePath));

/** Everything in a drop, folders included. Entries must be taken before the event ends. */
export async function droppedFiles({ items }: DataTransfer): Promise<DroppedFile[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found: DroppedFile[] = [];
  for (const entry of entries) await addEntry(entry, found);
  return found;
}

async function addEntry(entry: FileSystemEntry, found: DroppedFile[]): Promise<void> {
  if (found.length >= maxFiles) return;
  if (entry.isDirectory)
    for (const inner of await listed(entry as FileSystemDirectoryEntry)) await addEntry(inner, found);
  else {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    found.push(dropped(file, entry.fullPath.replace(/^\//, '')));
  }
}

/** A reader returns a hundred entries at a time. */
async function listed(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0 || all.length >= maxFiles) return all;
    all.push(...some);
  }
}

const dropped = (file: File, path: string): DroppedFile => ({
  name: path === '' ? file.name : path,
  blob: file,
  writtenAt: file.lastModified,
});
