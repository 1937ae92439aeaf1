import type { Cli } from '../cli.ts';
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
    // Line by line over what is there, so that nothing flickers. Cleared before, not behind: behind a full line the
    // cursor still stands on its last character.
    const lines = draw();
    const text = lines.map((line, index) => `\x1b[${index + 1};1H\x1b[2K${line}`).join('');
    cli.out(lines.length < terminal.size().rows ? `${text}\x1b[${lines.length + 1};1H\x1b[J` : text);
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
