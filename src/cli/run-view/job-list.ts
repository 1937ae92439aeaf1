const mostParts = 8;

/** Jobs by their ids, in order; neighbours are told by the first and the last: `0001, 0004 to 0009 and 12 more`. */
export function jobList(ids: readonly string[]): string {
  const parts: { first: string; last: string; jobs: number }[] = [];
  for (const id of ids) {
    const part = parts.at(-1);
    if (part !== undefined && isNext(part.last, id)) {
      part.last = id;
      part.jobs += 1;
    } else parts.push({ first: id, last: id, jobs: 1 });
  }
  const shown = parts.slice(0, mostParts);
  const more = ids.length - shown.reduce((sum, { jobs }) => sum + jobs, 0);
  return `${shown.map(partText).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Ids of a run are numbers; those of an event log, as `12.3`, are listed one by one. */
const isNext = (before: string, id: string): boolean =>
  /^\d+$/.test(before) && /^\d+$/.test(id) && Number(id) === Number(before) + 1;

function partText({ first, last, jobs }: { first: string; last: string; jobs: number }): string {
  if (jobs < 3) return jobs === 1 ? first : `${first}, ${last}`;
  return `${first} to ${last}`;
}
