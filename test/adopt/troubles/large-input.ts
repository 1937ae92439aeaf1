import type { Fateful, Trouble } from './trouble.ts';

/** What a job needs to have its input from a federation: lines and files, among them `ca.pem`. */
export interface Federated {
  lines: string[];
  files: Record<string, string | Uint8Array>;
  /** The object of 3.5 MB. */
  url: string;
}

/** By the access point, for a job that found its input. */
const megabytesSent: Trouble['sees'] = async ({ cluster, tool }) => {
  const names = ['ExitCode', 'TransferInputStats.CedarSizeBytesTotal'];
  const [code, bytes] = (await tool('condor_history', cluster, '-af', ...names)).split(' ');
  return code === '0' ? `${Math.floor(Number(bytes) / 1e6)} MB` : 'a failure';
};

/** Input that goes through the access point, or past it. */
export const aboutLargeInput = ({ lines, files, url }: Federated): Trouble[] => {
  const local = {
    does: 'test -s big.bin',
    files: { ...files, 'big.bin': new Uint8Array(3_500_000) },
    right: (own: string[], fix: string): string[] => {
      if (!fix.includes('list them as osdf:/// URLs')) throw new Error(fix);
      return own.map((line) => line.replace('= big.bin', `= ${url}`));
    },
  };
  const input = 'transfer_input_files = big.bin, ca.pem';
  const tooLarge: Fateful = {
    ...local,
    rule: 'input-too-large',
    lines: [...lines, input, 'max_transfer_input_mb = 2'],
    before: 'is held (32)',
  };
  const large: Trouble = {
    ...local,
    rule: 'input-large',
    adviseBytes: 2e6,
    lines: [...lines, input],
    sees: megabytesSent,
    before: '3 MB',
    after: '0 MB',
  };
  return [tooLarge, large];
};
