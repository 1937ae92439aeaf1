/** Whether a file with these first bytes is a program: a script with a `#!` line, or a binary of Linux. */
export const isProgram = (start: Uint8Array): boolean =>
  startsWith(start, '#!') || startsWith(start, '\u007fELF');

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  bytes.length >= text.length && [...text].every((one, at) => bytes[at] === one.charCodeAt(0));
