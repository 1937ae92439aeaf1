import { counted, firstFew, printable } from '@updraft/base';
import type { Dag, Dagman, DagNode } from './dag.ts';
import { parseDag } from './parse-dag.ts';

/** What the newest rescue file of a DAG says. */
export interface Rescue {
  file: string;
  /** Who uses it. */
  dagman: Dagman;
  /** Nodes that failed, as its comments list them. */
  failed: string[];
  /** Nodes that `condor_submit_dag` would run. */
  rerun: DagNode[];
  /** Nodes that are done and not run again. */
  done: DagNode[];
  /** Names that the DAG does not have, each with its line: DAGMan then refuses to start. */
  unknown: { name: string; line: number }[];
}

/** DAGMan's own limit is 999; the default is 100. */
const maxRescues = 999;

/** The newest rescue file, which DAGMan uses by itself. */
export function newestRescue(dag: string, exists: (name: string) => boolean): string | undefined {
  let newest: string | undefined;
  for (let number = 1, missing = 0; number <= maxRescues && missing < 10; number++) {
    const name = `${dag}.rescue${String(number).padStart(3, '0')}`;
    if (exists(name)) [newest, missing] = [name, 0];
    else missing += 1;
  }
  return newest;
}

/** A rescue file marks nodes as DONE; DAGMan reads it in combination with the DAG file. */
export function readRescue(file: string, text: string, dag: Dag, dagman: Dagman): Rescue {
  const nodes = dag.nodes.filter((node) => node.dagman === dagman);
  const nodeOf = (name: string): DagNode | undefined => dag.byName.get(dagman.prefix + name);
  const named = parseDag(text, file).commands.flatMap((command) =>
    command.kind === 'done' ? [command] : [],
  );
  const done = new Set(named.flatMap(({ node }) => nodeOf(node) ?? []));
  const isDone = (node: DagNode): boolean => node.done || (done.has(node) && node.type !== 'final');
  const [, list = ''] = /^#\s*Nodes that failed:.*\n#\s*(.*)<ENDLIST>/m.exec(text) ?? [];
  return {
    file,
    dagman,
    failed: list
      .split(',')
      .filter((name) => name !== '')
      .map((name) => dagman.prefix + name),
    rerun: nodes.filter((node) => !isDone(node)),
    done: nodes.filter(isDone),
    unknown: named.flatMap(({ node, place: { line } }) =>
      nodeOf(node) === undefined ? [{ name: node, line }] : [],
    ),
  };
}

/** What `condor_submit_dag` would do with the newest rescue file, or an inner DAG with its own. */
export function rescueLines({ file, dagman, failed, rerun, done }: Rescue): string[] {
  const who = dagman.node === undefined ? 'condor_submit_dag' : printable(dagman.node.name);
  const names = (nodes: readonly DagNode[]): string =>
    firstFew(
      nodes.map(({ name }) => printable(name)),
      8,
    );
  const again = rerun.filter(({ name }) => failed.includes(name));
  const others = rerun.filter(({ name }) => !failed.includes(name));
  const total = counted(rerun.length + done.length, 'node');
  return [
    `${who} would use ${printable(file)} and run ${rerun.length} of ${total}`,
    ...(again.length === 0 ? [] : [`  failed before: ${names(again)}`]),
    ...(others.length === 0 ? [] : [`  not done: ${names(others)}`]),
    ...(done.length === 0 ? [] : [`  done, not run again: ${names(done)}`]),
  ];
}
