import path from 'node:path';
import { counted, formatSize, printable, given } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import { type Fault, type FaultKind, kinds } from '@updraft/account/fault';
import type { Fetched } from '@updraft/pelican/transfer';
import type { Cli } from '../cli.ts';
import { PrintedFault } from '../print-fault.ts';
import type { TransferBoard } from './board.ts';
import type { GetResult } from './fetch-item.ts';
import { describeAmount, describeServersUsed, describeVerified } from './describe-transfer.ts';

/** The result of one object: a line, or an object of JSON. */
export function printResult(
  cli: Cli,
  board: TransferBoard,
  result: GetResult,
  options: { json?: true },
): void {
  if (options.json) board.print(JSON.stringify(resultJson(result)));
  else if (result.fault !== undefined)
    printTransferFault(board, displayPath(cli, result.target), result.fault);
  // Thousands of names that nothing happened to would hide the others.
  else if (result.isOld === undefined) printFetched(cli, board, result);
}

function printFetched(
  cli: Cli,
  board: TransferBoard,
  { target, fetched, unpacked, setbacks }: GetResult,
): void {
  if (fetched === undefined) return;
  const { bytes, seconds, verified, servers } = fetched;
  const isThere = servers.length === 0 && bytes > 0;
  const moved = movedBytes(fetched);
  const earlier = moved < bytes ? `; ${formatSize(bytes - moved)} of it from an earlier download` : '';
  const parts = given(
    isThere ? `${formatSize(bytes)}, already there` : `${describeAmount(bytes, seconds, moved)}${earlier}`,
    describeServersUsed(fetched),
    describeVerified(verified, fetched.missing),
    unpacked !== undefined && describeUnpacked(cli, target, unpacked),
    setbacks.length > 0 && counted(setbacks.length, 'setback'),
  );
  board.print(`${displayPath(cli, target)}: ${parts.filter((part) => part !== '').join('; ')}`);
  const isProven = verified === 'manifest' || verified === 'digest';
  if (unpacked?.ended === 'no-end-blocks' && !isProven)
    board.say(
      `${displayPath(cli, target)}: the archive has no end marker and was not verified: it may be truncated ` +
        'between two files',
    );
}

/** The bytes of the object that came over the network. */
function movedBytes({ bytes, servers }: Fetched): number {
  return Math.min(
    bytes,
    servers.reduce((sum, each) => sum + each.bytes, 0),
  );
}

function describeUnpacked(
  cli: Cli,
  target: string,
  { files, bytes }: NonNullable<GetResult['unpacked']>,
): string {
  const where = displayPath(cli, path.dirname(target));
  return `${counted(files, 'file')} (${formatSize(bytes)}) unpacked into ${where === '' ? '.' : where}`;
}

function resultJson({ url, target, fetched, unpacked, setbacks, fault, isOld: skipped }: GetResult): object {
  const error = fault && faultJson(fault);
  if (fetched === undefined) return { url, target, setbacks, error };
  const { bytes, seconds, verified, servers, leftOut } = fetched;
  const rate = seconds > 0 ? Math.round(movedBytes(fetched) / seconds) : undefined;
  const warning = fetched.missing && describeVerified(verified, fetched.missing);
  const how = { bytes, seconds, rate, verified, warning, servers, leftOut };
  return { url, target, ...how, setbacks, unpacked, skipped };
}

export function faultJson({ kind, message, fix }: Fault): object {
  return { kind, message, fix, exit: kinds[kind].exit };
}

export function printTransferFault(board: Pick<TransferBoard, 'say'>, name: string, fault: Fault): void {
  board.say(`${name} FAILED: ${printable(fault.message)}`);
  if (fault.fix !== undefined) board.say(`  fix: ${printable(fault.fix)}`);
}

/** Ends a command of several objects: names the failed ones and throws with their exit code. */
export function throwWorstFault(
  cli: Cli,
  results: readonly { url: string; fault?: Fault }[],
  { json, again }: { json?: boolean; again: string },
): void {
  const failed = results.flatMap(({ url, fault }) => (fault === undefined ? [] : [{ url, fault }]));
  const stopped = failed.find(({ fault }) => fault.kind === 'interrupted');
  const worst = stopped ?? failed[0];
  if (worst === undefined) return;
  if (json !== true) {
    if (results.length > 1) {
      cli.err(`${results.length - failed.length} of ${results.length} done; not done:\n`);
      for (const { url, fault } of failed) cli.err(`  ${printable(withoutSecrets(url))} (${fault.kind})\n`);
    }
    if (failed.some(({ fault }) => retryMayHelp(fault))) cli.err(`${again}\n`);
  }
  throw new PrintedFault(worst.fault);
}

/** Faults that a retry here cannot fix, although another machine might. */
const lastingKinds = new Set<FaultKind>(['object-missing', 'token-expired', 'scratch-unusable']);

/** Whether running the same command again may help. */
const retryMayHelp = ({ kind }: Fault): boolean => kinds[kind].retry !== 'never' && !lastingKinds.has(kind);

/** The shortest path from here, safe on a terminal: servers choose names. */
export function displayPath(cli: Cli, file: string): string {
  const relative = path.relative(cli.cwd, file);
  return printable(relative.startsWith('..') ? file : relative);
}
