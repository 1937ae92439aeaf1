/** HTCondor's event numbers, by the name this project gives each. */
export const eventNumbers = {
  submit: 0,
  execute: 1,
  'executable-error': 2,
  checkpointed: 3,
  evicted: 4,
  terminated: 5,
  'image-size': 6,
  'shadow-exception': 7,
  generic: 8,
  aborted: 9,
  suspended: 10,
  unsuspended: 11,
  held: 12,
  released: 13,
  'node-execute': 14,
  'node-terminated': 15,
  'post-script-terminated': 16,
  'globus-submit': 17,
  'globus-submit-failed': 18,
  'globus-resource-up': 19,
  'globus-resource-down': 20,
  'remote-error': 21,
  disconnected: 22,
  reconnected: 23,
  'reconnect-failed': 24,
  'grid-resource-up': 25,
  'grid-resource-down': 26,
  'grid-submit': 27,
  'job-ad-information': 28,
  'job-status-unknown': 29,
  'job-status-known': 30,
  'stage-in': 31,
  'stage-out': 32,
  'attribute-update': 33,
  'pre-skip': 34,
  'cluster-submit': 35,
  'cluster-remove': 36,
  'factory-paused': 37,
  'factory-resumed': 38,
  'file-transfer': 40,
  'reserve-space': 41,
  'release-space': 42,
  'file-complete': 43,
  'file-used': 44,
  'file-removed': 45,
  'dataflow-job-skipped': 46,
  'common-files': 47,
} as const;

/** The name of an event's kind; `unknown` is every number HTCondor's job logs do not use (yet). */
export type EventKind = keyof typeof eventNumbers | 'unknown';

const byNumber: EventKind[] = [];
for (const [kind, number] of Object.entries(eventNumbers)) byNumber[number] = kind as EventKind;

export const kindOf = (number: number): EventKind => byNumber[number] ?? 'unknown';
