import { showMillis } from './show-millis.ts';

export const showSeconds = (seconds: number | null): string =>
  seconds === null ? '-' : showMillis(seconds * 1000);
/** Less than an hour says more in minutes and seconds. */
export const showHours = (seconds: number): string =>
  seconds < 3600 ? showSeconds(seconds) : `${(seconds / 3600).toFixed(1)} h`;
export const showShare = (share: number | null): string =>
  share === null ? '-' : `${(share * 100).toFixed(1)} %`;

const sizeUnits = ['KB', 'MB', 'GB', 'TB'];

/** An amount of a resource; sizes as people write them into submit files, where 1 GB is 1024 MB. */
export function showAmount(value: number, unit: string | null): string {
  let at = sizeUnits.indexOf(unit ?? '');
  if (at === -1) return `${Number(value.toFixed(2))}${unit === null ? '' : ` ${unit}`}`;
  for (; value >= 1024 && at < sizeUnits.length - 1; at++) value /= 1024;
  return `${Number(value.toFixed(1))} ${sizeUnits[at] ?? ''}`;
}
