import type { RunState } from '../../journal/state.ts';
import type { Cli } from '../cli.ts';

/** Says on stderr when there may be more to tell of a run than its state, and why. */
export function tellTrouble(cli: Cli, { trouble }: RunState): void {
  if (trouble === undefined) return;
  cli.err(`updraft: ${trouble.message}\n`);
  cli.err(`  fix: ${trouble.fix}\n`);
}
