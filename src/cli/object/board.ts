import { formatSize, printable } from '@updraft/base';
import { drawErr, type Cli } from '../cli.ts';
import { glyphsFor } from '../text/glyphs.ts';
import { barLines, formatRate, type TransferCounts, type TransferProgress } from './describe-transfer.ts';

/** Bars on a terminal, occasional lines in a file, or only errors. */
export type BoardMode = 'bars' | 'lines' | 'silent';

const redrawMs = 100;
const lineMs = 10_000;

/** Shows active transfers on stderr; results and news are printed above the bars. */
export class TransferBoard {
  readonly tally: TransferCounts;
  readonly #cli: Cli;
  readonly #mode: BoardMode;
  readonly #works = new Set<TransferProgress>();
  readonly #reportedAt = new Map<TransferProgress, number>();
  #drawn = 0;
  #drawnAt = -Infinity;

  constructor(cli: Cli, mode: BoardMode, files: number) {
    this.#cli = cli;
    this.#mode = mode;
    this.tally = { files, ended: 0, endedBytes: 0 };
  }

  begin(name: string): TransferProgress {
    const work: TransferProgress = { name: printable(name), bytes: 0, total: undefined, rate: 0, server: '' };
    this.#works.add(work);
    this.#reportedAt.set(work, this.#cli.clock.monotonic());
    return work;
  }

  /** Shows one piece of work while it runs; `action` reports the bytes done so far. */
  async during<T>(
    name: string,
    action: (done: (bytes: number, total?: number) => void) => Promise<T>,
  ): Promise<T> {
    const work = this.begin(name);
    const { clock } = this.#cli;
    const started = clock.monotonic();
    try {
      return await action((bytes, total) => {
        const seconds = Math.max(0.001, (clock.monotonic() - started) / 1000);
        this.progress(work, { bytes, total, rate: bytes / seconds, server: '' });
      });
    } finally {
      this.end(work);
    }
  }

  progress(work: TransferProgress, state: Omit<TransferProgress, 'name'>): void {
    Object.assign(work, state);
    if (this.#mode === 'bars') this.#redraw();
    else if (this.#mode === 'lines') this.#report(work);
  }

  end(work: TransferProgress): void {
    this.#works.delete(work);
    this.#reportedAt.delete(work);
    this.tally.ended++;
    this.tally.endedBytes += work.bytes;
  }

  /** A message that `--quiet` leaves out. */
  news(line: string): void {
    if (this.#mode !== 'silent') this.say(line);
  }

  /** A message, on stderr. */
  say(line: string): void {
    this.#erase();
    this.#cli.err(`${line}\n`);
    this.#redraw();
  }

  /** A line of data, on stdout. */
  print(line: string): void {
    this.#erase();
    this.#cli.out(`${line}\n`);
    this.#redraw();
  }

  /** Removes the bars. */
  close(): void {
    this.#works.clear();
    this.#erase();
  }

  #report(work: TransferProgress): void {
    const now = this.#cli.clock.monotonic();
    if (now - (this.#reportedAt.get(work) ?? now) < lineMs) return;
    this.#reportedAt.set(work, now);
    const of = work.total === undefined ? '' : ` of ${formatSize(work.total)}`;
    const from = work.server === '' ? '' : ` from ${work.server}`;
    this.#cli.err(`${work.name}: ${formatSize(work.bytes)}${of}, ${formatRate(work.rate)}${from}\n`);
  }

  #redraw(): void {
    const now = this.#cli.clock.monotonic();
    if (this.#mode !== 'bars' || (this.#drawn > 0 && now - this.#drawnAt < redrawMs)) return;
    this.#drawnAt = now;
    const { columns, rows } = this.#cli.terminal?.size() ?? this.#cli;
    const frame = { columns, rows, glyphs: glyphsFor(this.#cli.env) };
    const lines = barLines([...this.#works], this.tally, frame);
    const up = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : '';
    drawErr(this.#cli, `${up}\r${lines.map((line) => `\x1b[2K${line}\n`).join('')}\x1b[J`);
    this.#drawn = lines.length;
  }

  #erase(): void {
    if (this.#drawn > 0) drawErr(this.#cli, `\x1b[${this.#drawn}A\r\x1b[J`);
    this.#drawn = 0;
  }
}

/** The mode for this stderr and these options. */
export function boardMode(cli: Cli, { json, quiet }: { json?: boolean; quiet?: boolean }): BoardMode {
  if (quiet === true || (json === true && !cli.errIsTerminal)) return 'silent';
  const drawable = cli.errIsTerminal && cli.env['TERM'] !== 'dumb';
  return drawable ? 'bars' : 'lines';
}
