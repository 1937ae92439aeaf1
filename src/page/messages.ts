import type { FindingGroup } from '@updraft/htcondor/lint';
import type { GroupingName } from '../report/groupings.ts';
import type { ExplanationView } from '../why/explanation-view.ts';
import type { ExplainedGroup } from '../why/group-explanations.ts';

/** A file that the user dropped or chose; its name has the folders above it, up to the one that was dropped. */
export interface DroppedFile {
  name: string;
  blob: Blob;
  writtenAt: number;
  /** Why nothing of it can be read. */
  damage?: string;
}

/** The pools whose own lines `adopt` knows. */
export type ChosenPool = 'htcondor' | 'ospool' | 'chtc';

/** What the page asks its worker. */
export type PageRequest =
  | { ask: 'files'; files: DroppedFile[]; folders: string[] | undefined; pool: ChosenPool }
  | { ask: 'job'; word: string }
  | { ask: 'reason'; text: string }
  | { ask: 'by'; by: GroupingName }
  | { ask: 'pool'; pool: ChosenPool };

/** What the worker answers, each as soon as it is known. */
export type PageAnswer =
  | { is: 'progress'; share: number; doing: string }
  | { is: 'report'; name: string; title: string; page: string }
  | { is: 'groups'; name: string; groups: ExplainedGroup[] }
  | { is: 'grouped'; page: string; command: string }
  | { is: 'why'; views: ExplanationView[]; command: string }
  | { is: 'no-job'; message: string }
  | { is: 'findings'; name: string; pool: ChosenPool; adopted: AdoptedFile[] }
  | { is: 'ignored'; names: string[]; packed: string[] }
  | { is: 'fault'; message: string; fix: string }
  | { is: 'done'; command: string };

/** What `adopt` found in a submit file or DAG. */
export interface AdoptedFile {
  headline: string;
  /** What was not checked, and what a rescue file would run. */
  notes: string[];
  groups: FindingGroup[];
}
