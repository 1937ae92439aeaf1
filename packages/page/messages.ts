import type { PoolLimits } from '@updraft/htcondor/submit';
import type { GroupingName } from '@updraft/account/report';
import type { ExplainedGroup } from '@updraft/account/why';
import type { Document as Page } from '@updraft/view/document';

/** A file that the user dropped or chose; its name has the folders above it, up to the one that was dropped. */
export interface DroppedFile {
  name: string;
  blob: Blob;
  writtenAt: number;
}

/** The pools whose own lines `adopt` knows. */
export type ChosenPool = 'htcondor' | 'ospool' | 'chtc';

/** The pool that submit files are for, and its limits. */
export interface Target {
  pool: ChosenPool;
  limits: PoolLimits;
}

/** What the page asks its worker. */
export type PageRequest =
  | { ask: 'files'; files: DroppedFile[]; folders: string[] | undefined; target: Target }
  | { ask: 'job'; word: string }
  | { ask: 'reason'; text: string }
  | { ask: 'by'; by: GroupingName }
  | { ask: 'pool'; target: Target };

/** What the worker answers, each as soon as it is known. */
export type PageAnswer =
  | { is: 'progress'; share: number; doing: string }
  | { is: 'report'; name: string; title: string; page: string }
  | { is: 'groups'; name: string; groups: ExplainedGroup[] }
  | { is: 'grouped'; page: string; command: string }
  | { is: 'why'; pages: Page[]; command: string }
  | { is: 'no-job'; message: string }
  | { is: 'findings'; name: string; pool: ChosenPool; adopted: Page[] }
  | { is: 'ignored'; names: string[]; packed: string[] }
  | { is: 'fault'; message: string; fix: string }
  | { is: 'done'; command: string };
