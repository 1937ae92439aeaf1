// Controls (C0, DEL, C1) could drive the terminal; bidirectional marks and line separators could disguise the text.
const unsafe = /[\p{Cc}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** Text from a log, journal or server as one line that is safe on a terminal. */
export const printable = (text: string): string => text.replaceAll(/\s+/gu, ' ').replaceAll(unsafe, '\ufffd');

/** The same for many lines: line ends, tabs and the carriage returns of progress bars stay. */
export const printableLines = (text: string): string =>
  text.replaceAll(unsafe, (mark) => (/[\n\t\r]/.test(mark) ? mark : '\ufffd'));
