/** What the submit event of a job says of it in the log. */
export const submitNotes = (job: string, round: number): string => `updraft job ${job} round ${round}`;

/** Whose event it is, by its notes; undefined where they are not ours. */
export function readSubmitNotes(notes: readonly string[]): { job: string; round: number } | undefined {
  for (const note of notes) {
    const [, job, round] = /^updraft job (\S+) round (\d+)$/.exec(note.trim()) ?? [];
    if (job !== undefined) return { job, round: Number(round) };
  }
  return undefined;
}
