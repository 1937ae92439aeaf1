import { closeSync, openSync, readSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { diskFiles } from '../../adopt/disk-files.ts';
import { Fault } from '../../fault/fault.ts';
import type { ProfileName } from '../../job/spec.ts';
import { isDag } from '../../dag/is-dag.ts';
import type { DagFacts } from '../../dag/dag-rules.ts';
import { surveyDag } from '../../dag/survey-dag.ts';
import type { Cli } from '../cli.ts';
import { surveyContext } from './survey-file.ts';

/** Enough to recognize a DAG. */
const maxBeginning = 64 << 10;

/** Whether the command's argument is a DAG. */
export async function isDagFile(file: string): Promise<boolean> {
  // Reading a pipe would take its bytes from whoever reads it next, or block.
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  return isFile && isDag(file, beginningOf(file));
}

function beginningOf(file: string): string {
  const buffer = Buffer.alloc(maxBeginning);
  try {
    const open = openSync(file, 'r');
    const read = readSync(open, buffer);
    closeSync(open);
    return buffer.toString('utf8', 0, read);
  } catch {
    return '';
  }
}

/** Reads a DAG and its nodes' submit files, by the version and limits of this access point or of the given pool. */
export async function surveyDagFile(cli: Cli, file: string, pool?: ProfileName): Promise<DagFacts> {
  const folder = path.dirname(file);
  const files = diskFiles(folder);
  const text = files.read(path.basename(file));
  if (text === undefined)
    throw new Fault('file-invalid', `the DAG ${file} cannot be read`, {
      fix: 'name the file that you would pass to condor_submit_dag',
      about: file,
    });
  return surveyDag({ file: path.basename(file), text, folder, files, ...(await surveyContext(cli, pool)) });
}
