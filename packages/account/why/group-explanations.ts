import { printable } from '@updraft/base';
import { nodeJobLabel } from '@updraft/htcondor/dag';
import { type Explanation, type Headline, type JobStatus, standingWords } from '../diagnosis/explanation.ts';
import { explainedLabel } from './explanation-page.ts';

/** Jobs with the same status and title. */
export interface ExplainedGroup {
  standing: JobStatus;
  cause: Explanation['cause'];
  title: string;
  /** The same of several jobs: of `it has no slot yet`, `they have no slot yet`. */
  titles: string;
  /** Their ids, or the names of their nodes; of several logs, the first of each begins with its log: `a.log: 12.3`. */
  jobs: string[];
  /** The same as people read them, with their values of the matrix. */
  labels: string[];
  /** The first of them. */
  example: Explanation;
}

/** Of more jobs, the first few are named. */
export const maxLabels = 6;

/** What is said of a group: about its first job, which the sentences name. */
export function groupAccount(group: ExplainedGroup): { heading: string; why: string[]; fix: string[] } {
  const { jobs, standing, title, titles } = group;
  const { cause, because, advice } = group.example;
  const [few, first] = cause === 'none' ? [[], []] : [because.slice(0, 2), advice.slice(0, 1)];
  const label = explainedLabel(group.example);
  return {
    heading: `${jobs.length} ${standingWords(standing)}: ${jobs.length === 1 ? title : titles}`,
    why: few.map((sentence) => `${label}: ${sentence}`),
    fix: first,
  };
}

const order: JobStatus[] = ['looping', 'held', 'failed', 'removed', 'waiting', 'running', 'success'];

export const groupExplanations = (explanations: Iterable<Explanation>): ExplainedGroup[] =>
  groupJobs(explanations, itself, itself);

const itself = <T>(one: T): T => one;

/** What needs attention first, then the most frequent first. Only the first job of a group is explained in full. */
export function groupJobs<Job>(
  jobs: Iterable<Job>,
  headlineOf: (job: Job) => Headline,
  explain: (job: Job) => Explanation,
): ExplainedGroup[] {
  const groups = new Map<string, ExplainedGroup>();
  const latestLogs = new Map<string, string>();
  for (const each of jobs) {
    const headline = headlineOf(each);
    const { standing, cause, title, titles = title, job, log, node = job, siblings } = headline;
    const key = `${standing} ${title}`;
    const group = groups.get(key);
    const own = nodeJobLabel(job, node, siblings);
    const name = log === undefined || log === latestLogs.get(key) ? own : `${log}: ${own}`;
    if (log !== undefined) latestLogs.set(key, log);
    const label = headline.name === undefined ? printable(name) : explainedLabel(headline);
    if (group === undefined)
      groups.set(key, {
        standing,
        cause,
        title,
        titles,
        jobs: [name],
        labels: [label],
        example: explain(each),
      });
    else {
      group.jobs.push(name);
      group.labels.push(label);
    }
  }
  const rank = ({ standing }: ExplainedGroup): number => order.indexOf(standing);
  return [...groups.values()].sort((a, b) => rank(a) - rank(b) || b.jobs.length - a.jobs.length);
}
