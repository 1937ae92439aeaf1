import { withEscapes } from '@updraft/base';

export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\n`;

/** Spreadsheets read a cell that begins with one of these as a formula. */
function csvCell(text: string): string {
  const lines = withEscapes(text, '\n\r\t');
  const safe = /^[=+@\t\r-]/.test(lines) && Number.isNaN(Number(lines)) ? `'${lines}` : lines;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
