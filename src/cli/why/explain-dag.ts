import { nearest } from '../../base/nearest.ts';
import { printable } from '../../base/printable.ts';
import type { Explanation } from '../../diagnosis/explanation.ts';
import { Fault } from '../../fault/fault.ts';
import { explainNodes } from '../../why/explain-nodes.ts';
import { readDagLogs } from '../report/dag-source.ts';
import type { Cli } from '../cli.ts';
import { jobsToExplain } from './explain-log.ts';

/** Explains the nodes of a DAG, also those that have no job; with a name, only that one. */
export async function explainDag(cli: Cli, file: string, name: string | undefined): Promise<Explanation[]> {
  const { run, logs } = await readDagLogs(cli, file);
  const { byName } = run.dag;
  if (name !== undefined && !byName.has(name)) throw noSuchNode(file, name, byName.keys());
  const read =
    logs.length === 0
      ? []
      : (await jobsToExplain(logs, undefined, { signal: cli.signal, isQuoted: true })).jobs;
  return explainNodes(run, read, file).filter(({ node }) => name === undefined || node === name);
}

function noSuchNode(file: string, name: string, known: Iterable<string>): Fault {
  const close = nearest(name, known);
  return new Fault('usage', `${printable(file)} has no node ${printable(name)}`, {
    about: name,
    fix: close === undefined ? 'name a node as its JOB line does' : `did you mean ${printable(close)}?`,
  });
}
