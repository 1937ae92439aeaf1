import path from 'node:path';
import { Fault } from '../../fault/fault.ts';

export interface TransferArgs {
  kind: 'transfer';
  infile: string;
  outfile: string;
  direction: 'download' | 'upload';
}

const flags = ['-classad', '-infile', '-outfile', '-upload'];
const names = /^(updraft|osdf|stash|pelican|pelican_xfer)_plugin/;

/** Whether HTCondor calls the agent as its plugin: by its arguments or by the program's name. */
export const isPluginCall = (program: string, args: readonly string[]): boolean =>
  names.test(path.basename(program)) || args.some((arg) => flags.includes(arg));

/** Parses the plugin's command line as HTCondor writes it. */
export function parseArgs(args: readonly string[]): TransferArgs | { kind: 'classad' | 'version' } {
  const files: Record<string, string | undefined> = {};
  let direction: TransferArgs['direction'] = 'download';
  const rest = args.values();
  for (const arg of rest) {
    if (arg === '-classad') return { kind: 'classad' };
    if (arg === '-version' || arg === '-v') return { kind: 'version' };
    if (arg === '-upload') direction = 'upload';
    else if (arg === '-infile' || arg === '-outfile') files[arg] = rest.next().value;
    else if (arg !== '-d') throw invalidArgs(`unknown argument ${JSON.stringify(arg)}`);
  }
  const { '-infile': infile, '-outfile': outfile } = files;
  if (infile === undefined || outfile === undefined)
    throw invalidArgs(`${infile === undefined ? '-infile' : '-outfile'} FILE is missing`);
  return { kind: 'transfer', infile, outfile, direction };
}

const invalidArgs = (what: string): Fault =>
  new Fault('usage', `invalid command line of the plugin: ${what}`, {
    fix: 'use -classad, or -infile FILE -outfile FILE [-upload]',
  });
