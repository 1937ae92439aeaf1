import { latin1Text } from './log-text.ts';

const yearlessHeader = /^\d{3} \([-\d.]+\) \d\d\/\d\d \d\d:/m;
const moments =
  /(?:own accord|by itself) at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z|\bEventTime = "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)/;

/** Whether the dates of a log have no year, and a moment that it gives in full all the same. */
export interface Dating {
  isYearless: boolean;
  moment: number | undefined;
}

/** What the beginning of a log says of its year, where the file's own date does not, as after a copy. */
export function datingOf(beginning: Uint8Array): Dating {
  if (!yearlessHeader.test(latin1Text(beginning, 0, Math.min(beginning.length, 65_536))))
    return { isYearless: false, moment: undefined };
  const match = moments.exec(latin1Text(beginning, 0, beginning.length));
  const moment = match ? Date.parse(`${match[1] ?? match[2] ?? ''}Z`) : NaN;
  return { isYearless: true, moment: Number.isNaN(moment) ? undefined : moment };
}
