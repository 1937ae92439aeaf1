import os from 'node:os';
import path from 'node:path';
import { errorReason, printableLines } from '@updraft/base';
import { Fault, kinds } from '@updraft/account/fault';
import { describeFull, isFull } from '@updraft/account/run-folder';
import { SpecFault } from '../job/source-file.ts';
import type { Cli } from './cli.ts';

/** Prints what went wrong and what to do; with `--json`, as one object on stdout. */
export function printFault(cli: Cli, fault: Fault, json: boolean): void {
  if (fault instanceof PrintedFault) return;
  if (json) {
    const { kind, message, fix, about } = fault;
    const problems = fault instanceof SpecFault ? fault.problems : undefined;
    const error = { kind, message, fix, about, exit: kinds[fault.kind].exit, problems };
    cli.out(`${JSON.stringify({ error })}\n`);
    return;
  }
  cli.err(`updraft: ${printableLines(fault.message)}\n`);
  if (fault.fix !== undefined) cli.err(`  fix: ${printableLines(fault.fix)}\n`);
  if (fault.kind !== 'internal') return;
  cli.err('  This is a bug in Updraft. Run it again with UPDRAFT_DEBUG=1 for details to report.\n');
  const detail = fault.cause instanceof Error ? fault.cause.stack : fault.stack;
  if (cli.env['UPDRAFT_DEBUG'] !== undefined) cli.err(`${detail ?? ''}\n`);
}

/** A failure that the command has already printed: only its exit code is left. */
export class PrintedFault extends Fault {
  constructor({ kind, message }: Fault) {
    super(kind, message);
    this.name = 'PrintedFault';
  }
}

/** A refusal of the file system as a fault, not a bug; undefined for anything else thrown. */
export function systemFault(thrown: unknown): Fault | undefined {
  if (!(thrown instanceof Error) || thrown instanceof Fault) return undefined;
  const { code = '', path: file, syscall = '' } = thrown as NodeJS.ErrnoException;
  if (isFull(thrown))
    return new Fault(
      'disk-full',
      `${file ?? 'a file'} cannot be written: ${file === undefined ? errorReason(thrown) : describeFull(file, thrown)}`,
      {
        about: file ?? syscall,
        fix: 'find the full disk with `df -h . ~ /tmp`, free some space, and run the same command again',
        cause: thrown,
      },
    );
  if (file === undefined || !['EACCES', 'EPERM', 'EROFS'].includes(code)) return undefined;
  return new Fault('file-invalid', `${file}: ${errorReason(thrown)} (${syscall})`, {
    about: file,
    fix: isOwnFolder(file)
      ? 'set XDG_STATE_HOME and XDG_CACHE_HOME to folders you can write to: Updraft keeps its state and caches there'
      : `find the owner with \`ls -ld ${path.dirname(file)}\`; run this as that user, or in your own folder`,
    cause: thrown,
  });
}

/** The home folder itself, or where programs keep their own files in it. */
const isOwnFolder = (file: string): boolean =>
  file === os.homedir() || /^\.(local|cache)(\/|$)/u.test(path.relative(os.homedir(), file));
