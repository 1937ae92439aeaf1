import path from 'node:path';
import { printable } from '../../base/printable.ts';
import type { Explanation } from '../../diagnosis/explanation.ts';
import type { LogEvent } from '../../eventlog/events.ts';
import { scanEventLog } from '../../eventlog/read-event-log.ts';
import { Fault } from '../../fault/fault.ts';
import { readHistory } from '../../history/read-history.ts';
import { explainStory } from '../../why/explain-story.ts';

/** Explains the jobs of an event log; with `12.3`, `12` for a cluster, or a DAG node, only those. */
export async function explainLog(
  file: string,
  shownAs: string,
  word: string | undefined,
  signal: AbortSignal,
): Promise<Explanation[]> {
  const only = word === undefined ? undefined : await selectJobs(file, word, signal);
  const evidence = path.basename(shownAs);
  const { jobs, facts, garbledBytes } = await readHistory([file], { evidence, only, signal });
  if (jobs.length > 0) return jobs.map((job) => explainStory(job));
  const isEmpty = facts.events === 0 && (only === undefined || (await isWithoutEvents(file)));
  throw isEmpty ? noEvents(shownAs, garbledBytes) : noSuchJob(shownAs, word);
}

async function isWithoutEvents(file: string): Promise<boolean> {
  let events = 0;
  await scanEventLog(file, () => void (events += 1));
  return events === 0;
}

/** Selects the events of the named jobs. All clusters of a DAG node are one job. */
async function selectJobs(
  file: string,
  word: string,
  signal: AbortSignal,
): Promise<(event: LogEvent) => boolean> {
  const [, cluster, proc] = /^(\d{1,15})(?:\.(\d{1,15}))?(?:\.\d+)?$/.exec(word) ?? [];
  const isNamed = (event: LogEvent): boolean =>
    Number(cluster) === event.cluster && (proc === undefined || Number(proc) === event.proc);
  const nodes = new Map<string, string[]>();
  const named = new Set<string>([word]);
  await scanEventLog(
    file,
    (event) => {
      if (event.kind !== 'submit' || event.details.dagNode === undefined) return;
      const { dagNode } = event.details;
      nodes.set(dagNode, [...(nodes.get(dagNode) ?? []), `${event.cluster}.${event.proc}`]);
      if (isNamed(event)) named.add(dagNode);
    },
    { signal },
  );
  const ids = new Set([...named].flatMap((node) => nodes.get(node) ?? []));
  if (cluster === undefined && ids.size === 0)
    throw new Fault('usage', `"${printable(word)}" does not name a job of an event log`, {
      about: word,
      fix: 'name a job like 12.3, a cluster like 12, or a DAG node',
    });
  return (event) => isNamed(event) || ids.has(`${event.cluster}.${event.proc}`);
}

function noEvents(log: string, garbled: number): Fault {
  if (garbled > 0)
    return new Fault('file-invalid', `there is no HTCondor event in ${printable(log)}`, {
      about: log,
      fix: 'name the event log of the jobs (`log` in their submit file), not their output',
    });
  return new Fault('file-invalid', `${printable(log)} is empty: its jobs have not been submitted yet`, {
    about: log,
    fix: 'wait until the jobs are submitted, or name the event log in their submit file',
  });
}

function noSuchJob(log: string, word: string | undefined): Fault {
  if (word === undefined)
    return new Fault('file-invalid', `the events in ${printable(log)} belong to no job`, { about: log });
  return new Fault('usage', `there is no job ${printable(word)} in ${printable(log)}`, {
    about: word,
    fix: 'to see all jobs, leave out the job',
  });
}
