export interface LogFacts {
  events: number;
  /** Events with a time before the previous event of the same job. */
  backwards: number;
  /** Incomplete events: the log was truncated, or is being written. */
  cut: number;
  /** Events that an earlier log has too. */
  repeated: number;
  /** Events whose id names no job: `-1.-1`. */
  jobless: number;
  firstTime: number | undefined;
  lastTime: number | undefined;
  /** False for a log without transfer events, such as DAGMan's `.nodes.log`. */
  hasTransfers: boolean;
  /** Whether the dates have no year and nothing in the logs shows it. */
  guessedYear: boolean;
  /** The zone of the log's own clock, as in `UTC` or `UTC-06:00`, where the logs name one or show it. */
  zone: string | undefined;
  /** Minutes east of UTC of the times as written; undefined where they name no zone, and this machine's is used. */
  offsetMinutes: number | undefined;
}

/** For jobs without a log. */
export const noFacts: Readonly<LogFacts> = {
  events: 0,
  backwards: 0,
  cut: 0,
  repeated: 0,
  jobless: 0,
  firstTime: undefined,
  lastTime: undefined,
  hasTransfers: true,
  guessedYear: false,
  zone: undefined,
  offsetMinutes: undefined,
};

/** A moment as the log's own clock shows it: `2026-11-15 03:00:12`, with the zone where that is known. */
export function logTime(
  time: number,
  { offsetMinutes, zone }: Pick<LogFacts, 'offsetMinutes' | 'zone'>,
): string {
  const east = offsetMinutes ?? -new Date(time).getTimezoneOffset();
  const text = new Date(time + east * 60_000).toISOString().slice(0, 19).replace('T', ' ');
  return zone === undefined ? text : `${text} ${zone}`;
}

/** `UTC`, or `UTC-06:00`. */
export function zoneName(offsetMinutes: number): string {
  if (offsetMinutes === 0) return 'UTC';
  const [sign, size] = [offsetMinutes < 0 ? '-' : '+', Math.abs(offsetMinutes)];
  const two = (value: number): string => String(value).padStart(2, '0');
  return `UTC${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
