import path from 'node:path';
import { scanEventLog } from '../../eventlog/read-event-log.ts';
import { printable } from '../../base/printable.ts';
import { Fault } from '../../fault/fault.ts';
import type { Explanation } from '../../diagnosis/explanation.ts';
import { explainStory } from '../../why/explain-story.ts';
import type { JobStory } from '../../diagnosis/job-story.ts';
import { StoryFold } from '../../history/story-fold.ts';

/** Explains the jobs of a bare event log; with a word (`12.3`, or `12` for a cluster), only those. */
export async function explainLog(
  file: string,
  shownAs: string,
  word: string | undefined,
  signal: AbortSignal,
): Promise<Explanation[]> {
  const asked = word === undefined ? undefined : parseId(word);
  const fold = new StoryFold(path.basename(shownAs));
  let events = 0;
  let garbled = 0;
  await scanEventLog(
    file,
    (event) => {
      events += 1;
      if (asked === undefined || isAsked(asked, event.cluster, event.proc)) fold.add(event);
    },
    { signal, onGarbled: ({ bytes }) => void (garbled += bytes.length) },
  );
  if (events === 0) throw noEvents(shownAs, garbled);
  const stories = fold.stories();
  if (stories.length === 0) throw noSuchJob(shownAs, word);
  return stories.map((story: JobStory) => explainStory(story));
}

interface Asked {
  cluster: number;
  /** Undefined for a whole cluster. */
  proc: number | undefined;
}

const isAsked = (asked: Asked, cluster: number, proc: number): boolean =>
  asked.cluster === cluster && (asked.proc === undefined || asked.proc === proc);

function parseId(word: string): Asked {
  const [, cluster, proc] = /^(\d{1,15})(?:\.(\d{1,15}))?(?:\.\d+)?$/.exec(word) ?? [];
  if (cluster === undefined)
    throw new Fault('usage', `"${printable(word)}" is no job of a log`, {
      about: word,
      fix: 'name it by cluster and number, as in 12.3, or a whole cluster, as in 12',
    });
  return { cluster: Number(cluster), proc: proc === undefined ? undefined : Number(proc) };
}

function noEvents(log: string, garbled: number): Fault {
  if (garbled > 0)
    return new Fault('file-invalid', `there is no HTCondor event in ${printable(log)}`, {
      about: log,
      fix: 'name the log of the jobs, as `log` in their submit file says; their output is another file',
    });
  return new Fault('file-invalid', `${printable(log)} is empty: no job of it has been submitted yet`, {
    about: log,
    fix: 'wait until the jobs are submitted, or name the log that their submit file names',
  });
}

function noSuchJob(log: string, word: string | undefined): Fault {
  if (word === undefined)
    return new Fault('file-invalid', `the events in ${printable(log)} are of no job`, { about: log });
  return new Fault('usage', `there is no job ${printable(word)} in ${printable(log)}`, {
    about: word,
    fix: `see which there are: leave the job out`,
  });
}
