const sizeUnits = ['KB', 'MB', 'GB', 'TB'];

/** So much of a resource; sizes as people write them into submit files, where 1 GB is 1024 MB. */
export function showAmount(value: number, unit: string | null): string {
  let at = sizeUnits.indexOf(unit ?? '');
  if (at === -1) return `${Number(value.toFixed(2))}${unit === null ? '' : ` ${unit}`}`;
  for (; value >= 1024 && at < sizeUnits.length - 1; at++) value /= 1024;
  return `${Number(value.toFixed(1))} ${sizeUnits[at] ?? ''}`;
}
