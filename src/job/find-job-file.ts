import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../fault/fault.ts';
import { jobFileNames } from './layout.ts';
import { lookAt } from './look-at.ts';

/** The job file that a path means: the file itself, or the one in the folder. */
export async function findJobFile(folderOrFile: string): Promise<string> {
  const info = await lookAt(folderOrFile);
  if (info === undefined)
    throw new Fault('file-invalid', `${folderOrFile}: no such file or folder`, {
      about: folderOrFile,
      fix: 'name a folder with an updraft.toml, or write one with: updraft init',
    });
  if (!info.isDirectory()) return folderOrFile;
  const names = await readdir(folderOrFile);
  const found = jobFileNames.filter((name) => names.includes(name));
  const [only, second] = found;
  if (only === undefined)
    throw new Fault('file-invalid', `${folderOrFile}: there is no ${jobFileNames.join(' or ')} here`, {
      about: folderOrFile,
      fix: 'write one with: updraft init',
    });
  if (second !== undefined)
    throw new Fault(
      'file-invalid',
      `${folderOrFile}: there are ${found.join(' and ')}; which one is meant?`,
      {
        about: folderOrFile,
        fix: `keep one of them, or name it: updraft check ${path.join(folderOrFile, only)}`,
      },
    );
  return path.join(folderOrFile, only);
}
