import { readdirSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';
import { isGone } from '../../base/error-reason.ts';
import { Fault } from '../../fault/fault.ts';
import { isInside } from '../../job/inside.ts';

export interface SeenFile {
  bytes: number;
  inode: bigint;
  /** Changes whenever the file is written to, replaced or renamed. */
  print: string;
}

/** What a folder holds at one moment: its files and its links, by path. */
export interface FolderLook {
  files: Map<string, SeenFile>;
  links: Map<string, string>;
}

/** Looks at a folder; what vanishes meanwhile is not in it, and a folder that is not there is empty. */
export function lookAt(folder: string): FolderLook {
  const look: FolderLook = { files: new Map(), links: new Map() };
  enter(folder, '', look);
  return look;
}

function enter(root: string, inside: string, look: FolderLook): void {
  for (const entry of entriesOf(path.join(root, inside))) {
    const name = path.join(inside, entry.name);
    if (entry.isDirectory()) enter(root, name, look);
    else if (entry.isFile()) seeFile(root, name, look);
    else if (entry.isSymbolicLink()) seeLink(root, name, look);
  }
}

function seeFile(root: string, name: string, { files }: FolderLook): void {
  const info = statSync(path.join(root, name), { bigint: true, throwIfNoEntry: false });
  if (info === undefined) return;
  const { dev, ino, size, mtimeNs, ctimeNs } = info;
  files.set(name, { bytes: Number(size), inode: ino, print: [dev, ino, size, mtimeNs, ctimeNs].join(' ') });
}

function seeLink(root: string, name: string, { links }: FolderLook): void {
  const target = unlessGone(() => readlinkSync(path.join(root, name)));
  if (target === undefined) return;
  if (path.isAbsolute(target) || !isInside(path.normalize(path.join(path.dirname(name), target))))
    throw new Fault(
      'wrong-output',
      `${name} in the checkpoint folder is a link to ${target}, outside of it`,
      {
        fix: 'put the file itself there: what lies elsewhere is not kept',
        about: name,
      },
    );
  links.set(name, target);
}

const entriesOf = (folder: string) =>
  unlessGone(() => readdirSync(folder, { withFileTypes: true }))?.sort((a, b) =>
    a.name < b.name ? -1 : 1,
  ) ?? [];

function unlessGone<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
