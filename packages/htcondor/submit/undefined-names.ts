import type { SourceLine } from '@updraft/base';
import { macroReferences } from './expand-macros.ts';
import type { Submission } from './submission.ts';

/** Names that DAGMan defines or that HTCondor never reports as unused. */
const ofDag = /^(dag_status|failed_count|job|retry|dag_parent_names|node_name|dagmanjobid)$/i;
const automatic =
  /^(cluster|clusterid|process|procid|jobid|step|row|item|itemindex|node|dollar|arch|opsys\w*|islinux|iswindows|submit_file|submit_time|year|month|day|condorversion|spool|item_?index)$/i;

export const isOfDag = (name: string): boolean => ofDag.test(name);

/** Macros that some value uses and nothing in the file defines: the command line or a DAG may. */
export function undefinedNames(submission: Submission, dag = false): { name: string; place: SourceLine }[] {
  const defined = new Set([
    ...submission.assignments.map(({ name }) => name.toLowerCase()),
    ...submission.queues.flatMap(({ variables }) => variables.map((name) => name.toLowerCase())),
  ]);
  return submission.assignments.flatMap(({ value, place }) =>
    [...value.matchAll(/(?<!\$)\$\(([\w.]+)\)/g)]
      .map(([, name = '']) => ({ name, place }))
      .filter(
        ({ name }) => !defined.has(name.toLowerCase()) && !automatic.test(name) && (dag || !isOfDag(name)),
      ),
  );
}

/** Environment variables that a raw value asks for without a default, and that are not set here. */
export const unsetIn = (raw: string, { unset }: Submission): string[] =>
  [...raw.matchAll(/(?<!\$)\$ENV\((\w+)\)/g)].flatMap(([, name = '']) => (unset.has(name) ? [name] : []));

/** Whether a raw value depends on a macro that nothing defines here, also through other macros. */
export function opennessOf(submission: Submission): (raw: string) => boolean {
  const open = new Set(undefinedNames(submission).map(({ name }) => name.toLowerCase()));
  for (const { value } of submission.assignments)
    for (const name of macroReferences(value)) if (isOfDag(name)) open.add(name);
  for (const { name, value } of submission.assignments)
    if (unsetIn(value, submission).length > 0) open.add(name.toLowerCase());
  const isOpen = (raw: string): boolean =>
    macroReferences(raw).some((name) => open.has(name)) || unsetIn(raw, submission).length > 0;
  // Each round follows one more step of the chains of macros.
  for (let size = -1; open.size > size && open.size > 0;) {
    size = open.size;
    for (const { name, value } of submission.assignments) if (isOpen(value)) open.add(name.toLowerCase());
  }
  return isOpen;
}
