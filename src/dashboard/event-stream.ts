import type { ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import type { RunHub } from './run-hub.ts';

/** Rows in one event: a page can draw between two of them. */
const mostRows = 500;
const heartbeatMillis = 15_000;

/**
 * Tells a page what changes, as server-sent events, until it goes away. A page that does not keep up is left out
 * and told everything it missed at once when it does.
 */
export class EventStream {
  readonly #hub: RunHub;
  readonly #response: ServerResponse;
  #mark: string | undefined;
  readonly #stopListening: () => void;

  constructor(hub: RunHub, response: ServerResponse, mark: string | undefined) {
    this.#hub = hub;
    this.#response = response;
    this.#mark = mark;
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    // The browser asks again after this long when the connection is lost.
    response.write('retry: 2000\n\n');
    this.#stopListening = hub.listen(() => this.#tell());
    response.on('drain', () => this.#tell());
    response.on('close', this.#stopListening);
    this.#tell();
  }

  /** Shows that the connection lives. */
  beat(): void {
    if (!this.#response.writableNeedDrain) this.#response.write(': alive\n\n');
  }

  #tell(): void {
    if (this.#response.writableNeedDrain) return;
    const news = this.#hub.newsSince(this.#mark);
    if (news === undefined || news.mark === this.#mark) return;
    const { board, rows, reset, mark } = news;
    for (let from = 0; from === 0 || from < rows.length; from += mostRows) {
      const change = { board, rows: rows.slice(from, from + mostRows), reset: reset && from === 0 };
      // Only the last part carries the mark: a page cut off before it asks for all of them again.
      const id = from + mostRows >= rows.length ? `id: ${mark}\n` : '';
      this.#response.write(`${id}event: change\ndata: ${JSON.stringify(change)}\n\n`);
    }
    this.#mark = mark;
  }
}

/** Beats for all streams, and lets the hubs look at the clock, until the signal aborts. */
export async function keepAlive(
  streams: ReadonlySet<EventStream>,
  hubs: readonly RunHub[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const isOver = await clock.sleep(heartbeatMillis, signal).then(
      () => false,
      () => true,
    );
    if (isOver) return;
    for (const hub of hubs) hub.refresh();
    for (const stream of streams) stream.beat();
  }
}
