import type { Cli } from './cli.ts';
import type { Terminal } from './terminal.ts';

const enter = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const leave = '\x1b[?7h\x1b[?25h\x1b[?1049l';
/** Without being told of a change: often enough for running clocks. */
const redrawMillis = 1000;

export interface Screen {
  redraw(): void;
  /** Gives the terminal back as it was: its screen, cursor, line wrapping and keyboard. */
  close(): void;
}

/** Takes the terminal for a view that is drawn anew on demand, on a change of size, and every second. */
export function openScreen(
  cli: Cli,
  terminal: Terminal,
  { draw, onKey }: { draw: () => string[]; onKey: (key: string) => void },
): Screen {
  const redraw = () => {
    // Written over what is there and cleared behind, so that nothing flickers.
    const lines = draw().map((line) => `${line}\x1b[K`);
    cli.out(`\x1b[H${lines.join('\r\n')}\x1b[J`);
  };
  cli.out(enter);
  const offKey = terminal.onKey(onKey);
  const offResize = terminal.onResize(redraw);
  const timer = setInterval(redraw, redrawMillis);
  return {
    redraw,
    close() {
      clearInterval(timer);
      offResize();
      offKey();
      cli.out(leave);
    },
  };
}
