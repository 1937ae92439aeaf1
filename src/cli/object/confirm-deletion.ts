import { printable } from '@updraft/base';
import { usageFault } from '@updraft/account/fault';
import type { Cli } from '../cli.ts';
import { askYesNo } from '../text/phrases.ts';

const shownNames = 10;

/** Shows what would be deleted and asks; throws unless the user agrees or gave --yes. */
export async function confirmDeletion(
  cli: Cli,
  { what, names, yes }: { what: string; names: readonly string[]; yes: boolean },
): Promise<void> {
  if (yes) return;
  for (const name of names.slice(0, shownNames)) cli.err(`  ${printable(name)}\n`);
  if (names.length > shownNames) cli.err(`  … and ${names.length - shownNames} more\n`);
  const agreed = await askYesNo(cli, `delete ${printable(what)}?`);
  if (agreed === true) return;
  throw usageFault(
    `${what}: nothing was deleted`,
    agreed === undefined
      ? 'there is no terminal to ask on: add --yes, or --dry-run to see what it would delete'
      : undefined,
  );
}
