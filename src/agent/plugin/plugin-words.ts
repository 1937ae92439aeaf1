import path from 'node:path';
import { Fault } from '../../fault/fault.ts';

export interface TransferWords {
  kind: 'transfer';
  infile: string;
  outfile: string;
  direction: 'download' | 'upload';
}

const flags = ['-classad', '-infile', '-outfile', '-upload'];
const names = /^(updraft|osdf|stash|pelican|pelican_xfer)_plugin/;

/** Whether HTCondor calls the agent as its plugin, by the words or by the name it is called under. */
export function isPluginCall(program: string, words: readonly string[]): boolean {
  return names.test(path.basename(program)) || words.some((word) => flags.includes(word));
}

/** Understands the plugin's command line, as HTCondor writes it. */
export function readWords(words: readonly string[]): TransferWords | { kind: 'classad' | 'version' } {
  const files: Record<string, string | undefined> = {};
  let direction: TransferWords['direction'] = 'download';
  const rest = words.values();
  for (const word of rest) {
    if (word === '-classad') return { kind: 'classad' };
    if (word === '-version' || word === '-v') return { kind: 'version' };
    if (word === '-upload') direction = 'upload';
    else if (word === '-infile' || word === '-outfile') files[word] = rest.next().value;
    else if (word !== '-d') throw misunderstood(`unknown word ${JSON.stringify(word)}`);
  }
  const { '-infile': infile, '-outfile': outfile } = files;
  if (infile === undefined || outfile === undefined)
    throw misunderstood(`${infile === undefined ? '-infile' : '-outfile'} FILE is missing`);
  return { kind: 'transfer', infile, outfile, direction };
}

const misunderstood = (what: string): Fault =>
  new Fault('usage', `the plugin's command line cannot be understood: ${what}`, {
    fix: '-classad, or -infile FILE -outfile FILE [-upload]',
  });
