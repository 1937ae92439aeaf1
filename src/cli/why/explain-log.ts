import { firstFew, printable } from '../../base/printable.ts';
import type { Explanation } from '../../diagnosis/explanation.ts';
import type { LogSource } from '../../eventlog/scan-log.ts';
import { Fault } from '../../fault/fault.ts';
import { readHistory, type ReadHistory } from '../../history/read-history.ts';
import { explainStory } from '../../why/explain-story.ts';
import { ChosenJobs } from './chosen-jobs.ts';

/** Explains the jobs of event logs; with `12.3`, `12` for a cluster, or a DAG node, only those. */
export async function explainLogs(
  sources: readonly LogSource[],
  word: string | undefined,
  signal: AbortSignal,
): Promise<Explanation[]> {
  const chosen = word === undefined ? undefined : new ChosenJobs(word);
  const read = (): Promise<ReadHistory> =>
    readHistory(sources, { evidence: true, only: chosen?.has, signal });
  let history = await read();
  if (chosen?.isIncomplete === true) {
    chosen.readAgain();
    history = await read();
  }
  if (history.jobs.length > 0) return history.jobs.map((job) => explainStory(job));
  const logs = firstFew([...new Set(sources.map(({ name }) => printable(name)))], maxNamed);
  throw chosen !== undefined && history.facts.events > 0 ? chosen.fault(logs) : noJobs(logs, history);
}

const maxNamed = 8;

function noJobs(logs: string, { facts, garbledBytes }: ReadHistory): Fault {
  if (facts.events > 0)
    return new Fault('file-invalid', `the events in ${logs} belong to no job`, { about: logs });
  if (garbledBytes > 0)
    return new Fault('file-invalid', `there is no HTCondor event in ${logs}`, {
      about: logs,
      fix: 'name the event log of the jobs (`log` in their submit file), not their output',
    });
  return new Fault('file-invalid', `${logs} is empty: its jobs have not been submitted yet`, {
    about: logs,
    fix: 'wait until the jobs are submitted, or name the event log in their submit file',
  });
}
