const yearlessHeader = /^\d{3} \([-\d.]+\) \d\d\/\d\d \d\d:/m;
const moments =
  /(?:own accord|by itself) at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z|\bEventTime = "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)/;

/**
 * A moment that the beginning of a log with yearless dates gives in full, as some events do: it tells the year
 * where the file's own date does not, as after a copy.
 */
export function momentWithin(beginning: Uint8Array): number | undefined {
  const text = Buffer.from(beginning.buffer, beginning.byteOffset, beginning.byteLength);
  if (!yearlessHeader.test(text.toString('latin1', 0, 65_536))) return undefined;
  const match = moments.exec(text.toString('latin1'));
  const moment = match ? Date.parse(`${match[1] ?? match[2] ?? ''}Z`) : NaN;
  return Number.isNaN(moment) ? undefined : moment;
}
