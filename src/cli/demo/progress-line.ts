import type { Cli } from '../cli.ts';

/** Talk that may be drawn over on a terminal; elsewhere only lasting lines are printed. */
export function progressLine(cli: Cli): (line: string, transient?: boolean) => void {
  let open = false;
  return (line, transient = false) => {
    const clear = open ? '\r\x1b[K' : '';
    if (!transient) cli.err(`${clear}${line}\n`);
    else if (cli.errIsTerminal) cli.err(`\r\x1b[K${line.slice(0, Math.max(20, cli.columns - 1))}`);
    open = transient && cli.errIsTerminal;
  };
}
