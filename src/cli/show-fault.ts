import { printableLines } from '../base/printable.ts';
import type { Fault } from '../fault/fault.ts';
import { SpecFault } from '../job/source-file.ts';
import type { Cli } from './cli.ts';
import { ToldFault } from './told-fault.ts';

/** Prints what went wrong and what to do; with `--json`, as one object on stdout. */
export function showFault(cli: Cli, fault: Fault, json: boolean): void {
  if (fault instanceof ToldFault) return;
  if (json) {
    const { kind, message, fix, about } = fault;
    const problems = fault instanceof SpecFault ? fault.problems : undefined;
    const error = { kind, message, fix, about, exit: fault.info.exit, problems };
    cli.out(`${JSON.stringify({ error })}\n`);
    return;
  }
  cli.err(`updraft: ${printableLines(fault.message)}\n`);
  if (fault.fix !== undefined) cli.err(`  fix: ${printableLines(fault.fix)}\n`);
  if (fault.kind !== 'internal') return;
  cli.err(
    '  This is a mistake in Updraft. Set UPDRAFT_DEBUG=1 and run it again for the details to report.\n',
  );
  const detail = fault.cause instanceof Error ? fault.cause.stack : fault.stack;
  if (cli.env['UPDRAFT_DEBUG'] !== undefined) cli.err(`${detail ?? ''}\n`);
}
