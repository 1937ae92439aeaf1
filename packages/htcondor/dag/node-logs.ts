import { posix } from 'node:path';
import { parseSubmit } from '../submit/parse-submit.ts';
import { filesFrom } from '../submit/submit-files.ts';
import type { Dag, DagNode } from './dag.ts';
import { type DescriptionContext, givenTo, type NodeGroup, nodeGroups } from './node-outcomes.ts';

/** Nodes whose log's name is worked out; more would take too long, and `.nodes.log` has their events. */
const maxNodes = 5000;

/** The event logs that the nodes' submit files name, relative to the DAG's folder. */
export function nodeLogs(dag: Dag, context: Pick<DescriptionContext, 'files' | 'env' | 'now'>): string[] {
  const logs = new Set<string>();
  let left = maxNodes;
  for (const group of nodeGroups(dag, context.files))
    for (const node of group.nodes) {
      if (group.isMissing || left-- <= 0) break;
      const { log, isSame } = logOf(dag, group, node, context);
      if (log !== undefined) logs.add(log);
      if (isSame) break;
    }
  return [...logs];
}

/** A node's log, and whether all nodes of its group have the same. */
function logOf(
  dag: Dag,
  group: NodeGroup,
  node: DagNode,
  { files, env, now }: Pick<DescriptionContext, 'files' | 'env' | 'now'>,
): { log: string | undefined; isSame: boolean } {
  const text = group.inline?.text ?? files.read(group.file) ?? '';
  const from = filesFrom(files, group.folder);
  const given = givenTo(dag, node);
  const context = { file: group.file, cwd: group.folder, files: from, env, now, given, maxJobs: 1 };
  const queue = parseSubmit(text, context).queues[0];
  const { log, initialdir = '.' } = queue?.jobs[0]?.commands ?? {};
  const isSame = !(queue?.inForce.get('log')?.value ?? '').includes('$') && !initialdir.includes('$');
  if (log === undefined || log === '' || log.includes('$$(')) return { log: undefined, isSame };
  const folder = posix.isAbsolute(initialdir) ? initialdir : posix.join(group.folder, initialdir);
  return { log: posix.isAbsolute(log) ? log : posix.join(folder, log), isSame };
}
