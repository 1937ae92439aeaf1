import type { ReadStream, WriteStream } from 'node:tty';

/** What a live view needs of a terminal beyond writing to it. */
export interface Terminal {
  size(): { columns: number; rows: number };
  /** Calls the listener on every resize, until the returned function is called. */
  onResize(listener: () => void): () => void;
  /** Calls the listener with every key, unechoed (Ctrl-C is `\x03`), until the returned function is called. */
  onKey(listener: (key: string) => void): () => void;
}

/** The terminal behind the two streams; undefined where the output is not one. */
export function terminalOf(input: ReadStream, output: WriteStream): Terminal | undefined {
  if (!output.isTTY) return undefined;
  return {
    // Some terminals (serial lines, tools that fake one) report 0.
    size: () => ({ columns: output.columns || 80, rows: output.rows || 24 }),
    onResize(listener) {
      output.on('resize', listener);
      return () => output.off('resize', listener);
    },
    onKey(listener) {
      if (!input.isTTY) return () => undefined;
      const onData = (data: Buffer) => listener(data.toString('utf8'));
      input.setRawMode(true);
      input.on('data', onData);
      input.resume();
      return () => {
        input.off('data', onData);
        input.pause();
        input.setRawMode(false);
      };
    },
  };
}
