import type { FindingGroup } from '../adopt/finding-groups.ts';
import type { ExplanationView } from '../why/explanation-view.ts';
import type { ExplainedGroup } from '../why/group-explanations.ts';

/** A file that the user dropped or chose; its name has the folders above it, up to the one that was dropped. */
export interface DroppedFile {
  name: string;
  blob: Blob;
  writtenAt: number;
}

/** What the page asks its worker. */
export type PageRequest =
  { ask: 'files'; files: DroppedFile[] } | { ask: 'job'; word: string } | { ask: 'reason'; text: string };

/** What the worker answers, each as soon as it is known. */
export type PageAnswer =
  | { is: 'progress'; share: number; doing: string }
  | { is: 'report'; name: string; title: string; page: string }
  | { is: 'groups'; groups: ExplainedGroup[] }
  | { is: 'why'; views: ExplanationView[]; command: string }
  | { is: 'no-job'; message: string }
  | { is: 'submit'; headline: string; groups: FindingGroup[] }
  | { is: 'ignored'; names: string[] }
  | { is: 'fault'; message: string; fix: string }
  | { is: 'done'; command: string };
