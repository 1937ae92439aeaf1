import { open } from 'node:fs/promises';

/** A line of a log and when it was seen, in milliseconds since 1970. */
export interface TimedLine {
  at: number;
  text: string;
}

const pollMs = 20;

/** Reads a log while it is written, until `ended` settles; it need not exist yet. */
export async function followLines(file: string, ended: Promise<unknown>): Promise<TimedLine[]> {
  const lines: TimedLine[] = [];
  const over = new AbortController();
  void ended.finally(() => over.abort());
  let [offset, rest] = [0, ''];
  for (;;) {
    // Checked before reading: what is written in between is read in the next round.
    const isLast = over.signal.aborted;
    const text = await readFrom(file, offset);
    offset += text.length;
    const at = Date.now();
    const parts = (rest + text.toString('latin1')).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((part) => ({ at, text: part })));
    if (isLast) return lines;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

async function readFrom(file: string, offset: number): Promise<Buffer> {
  const handle = await open(file).catch(() => undefined);
  if (handle === undefined) return Buffer.alloc(0);
  await using log = handle;
  const { size } = await log.stat();
  const { buffer, bytesRead } = await log.read(Buffer.alloc(size - offset), 0, size - offset, offset);
  return buffer.subarray(0, bytesRead);
}
