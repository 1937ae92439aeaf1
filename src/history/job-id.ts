import type { JobHistory } from './history.ts';

/**
 * Whether a word is the id or the cluster of a job, as logs or reports write it, also of one before DAGMan tried its node
 * again. Several logs may have an id: `12.3` are all of them, `12.3#2` is the second.
 */
export function hasNumber(
  { id, earlierIds = [] }: Pick<JobHistory, 'id' | 'earlierIds'>,
  word: string,
): boolean {
  const [, cluster = '', proc, use = ''] = /^0*(\d+)(?:\.0*(\d+)(?:\.\d+)?)?(#\d+)?$/.exec(word) ?? [];
  const number = proc === undefined ? cluster : `${cluster}.${proc}${use}`;
  return [id, ...earlierIds].some(
    (one) => one === number || one.startsWith(`${number}.`) || one.startsWith(`${number}#`),
  );
}

/** The id as HTCondor's commands take it. */
export const idInQueue = (id: string): string => id.replace(/#\d+$/, '');
