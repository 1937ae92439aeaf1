import { printable } from '../base/printable.ts';
import { clip } from '../base/text-table.ts';
import { withoutSecrets } from '../base/without-secrets.ts';

/** Which way the bytes went. */
export type Way = 'input' | 'output';

/** What a failed transfer says of itself. */
export interface TransferWords {
  reason: string;
  subcode: number | undefined;
}

/** The object's URL, as plugins give it. */
export function namedUrl(reason: string): string | undefined {
  const url =
    /URL file = (\S+)/i.exec(reason)?.[1] ??
    /\b((?:osdf|pelican|https?|stash|ftp):\/\/[^\s)'"|,;]+)/i.exec(reason)?.[1];
  return url === undefined ? undefined : short(url);
}

/** HTCondor writes `|` for a line end. */
export const short = (words: string): string =>
  clip(printable(withoutSecrets(words).replaceAll('|', ' ')).trim(), 300);
