import { readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { condorFiles } from '../../pool/condor/condor-files.ts';

/**
 * HTCondor is given files under links in the run's folder and speaks of those; people know the files by the names they
 * gave them. Gives what puts the one for the other in a sentence.
 */
export async function readInputNames(folder: string): Promise<(said: string) => string> {
  const inputs = path.join(folder, condorFiles.inputs);
  const names = await readdir(inputs).catch(() => []);
  const links = await Promise.all(
    names.map(async (name) => {
      const file = await readlink(path.join(inputs, name)).catch(() => undefined);
      return file === undefined ? [] : [[name, file] as const];
    }),
  );
  // The longest first: one name may be the beginning of another.
  const known = links.flat().sort(([one], [other]) => other.length - one.length);
  return (said) =>
    known.reduce((text, [name, file]) => {
      const spellings = [path.join(inputs, name), `${condorFiles.inputs}/${name}`];
      return spellings.reduce((words, spelling) => words.replaceAll(spelling, () => file), text);
    }, said);
}
