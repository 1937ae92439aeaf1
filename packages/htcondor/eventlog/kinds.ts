/** The numbers of HTCondor's events that Updraft reads, by the name that it gives each. */
const eventNumbers = {
  submit: 0,
  execute: 1,
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
  'post-script-terminated': 16,
  'remote-error': 21,
  disconnected: 22,
  reconnected: 23,
  'reconnect-failed': 24,
  'job-ad-information': 28,
  'attribute-update': 33,
  'cluster-submit': 35,
  'cluster-remove': 36,
  'file-transfer': 40,
} as const;

/** The name of an event's kind; `other` is every number that nothing here reads. */
export type EventKind = keyof typeof eventNumbers | 'other';

const byNumber: EventKind[] = [];
for (const [kind, number] of Object.entries(eventNumbers)) byNumber[number] = kind as EventKind;

export const kindOf = (number: number): EventKind => byNumber[number] ?? 'other';
