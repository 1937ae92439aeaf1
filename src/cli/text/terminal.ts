import type { ReadStream, WriteStream } from 'node:tty';

/** What a live view needs of a terminal beyond writing to it. */
export interface Terminal {
  size(): { columns: number; rows: number };
  /** Tells of every change of size, until the function it gives is called. */
  onResize(listener: () => void): () => void;
  /** Tells of every key, unechoed (Ctrl-C is `\x03`), until the function it gives is called. */
  onKey(listener: (key: string) => void): () => void;
}

/** The terminal behind the two streams; undefined where the output is none. */
export function terminalOf(input: ReadStream, output: WriteStream): Terminal | undefined {
  if (!output.isTTY) return undefined;
  return {
    // Some terminals (serial lines, tools that fake one) say 0.
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
