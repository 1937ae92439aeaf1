const minute = 60_000;
const quarterHour = 15 * minute;
/** The largest difference between two time zones. */
const maxShift = 26 * 60 * minute;

/**
 * What to add to the times of a log that names no time zone to match the journal: a run's folder may be read far from
 * where it was written. `written` is when the jobs entered the queue by the log, read as local time; by the journal it
 * was between `earliest` and `latest`. All in milliseconds.
 */
export function zoneShift(written: number, earliest: number, latest: number): number {
  const early = earliest - minute - written;
  const late = written - latest - minute;
  const shift =
    early > 0
      ? Math.ceil(early / quarterHour) * quarterHour
      : late > 0
        ? -Math.ceil(late / quarterHour) * quarterHour
        : 0;
  return Math.abs(shift) > maxShift ? 0 : shift;
}
