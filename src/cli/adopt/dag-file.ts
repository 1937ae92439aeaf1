import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { diskFiles } from '@updraft/htcondor/submit';
import { Fault } from '../../fault/fault.ts';
import type { ProfileName } from '../../job/spec.ts';
import { type DagFacts, isDag, surveyDag } from '@updraft/htcondor/dag';
import type { Cli } from '../cli.ts';
import { surveyContext } from './survey-file.ts';

/** Enough to recognize a DAG. */
const maxBeginning = 64 << 10;

/** Whether the command's argument is a DAG. */
export async function isDagFile(file: string): Promise<boolean> {
  // Reading a pipe would take its bytes from whoever reads it next, or block.
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) return false;
  await using handle = await open(file).catch(() => undefined);
  const read = await handle?.read(Buffer.alloc(maxBeginning));
  return isDag(file, read?.buffer.toString('utf8', 0, read.bytesRead) ?? '');
}

/** Reads a DAG and its nodes' submit files, by the version and limits of this access point or of the given pool. */
export async function surveyDagFile(cli: Cli, file: string, pool?: ProfileName): Promise<DagFacts> {
  const folder = path.dirname(file);
  const files = diskFiles(folder);
  const text = files.read(path.basename(file));
  if (text === undefined) throw notADag(`the DAG ${file} cannot be read`, file);
  return surveyDag({ file: path.basename(file), text, folder, files, ...(await surveyContext(cli, pool)) });
}

export const notADag = (message: string, word: string): Fault =>
  new Fault('file-invalid', message, {
    about: word,
    fix: 'name the file that you pass to condor_submit_dag',
  });
