import { type CodeRow, codeRows, removals } from '@updraft/account/codes';
import type { ReportedReason } from '@updraft/account/testing';

/** A hold or an eviction that matches a row. */
export interface Example {
  row: CodeRow;
  said: ReportedReason;
}

const urls = ['osdf:///ns/train.tar', 'https://ap.example/ckpt/job_12.0_1700000000/0001/model.pt'];

/** A reason with a phrase in it, as HTCondor may write it. */
const wordsWith = (phrase: string): string =>
  `it said ${phrase.replaceAll('#', '3620').replaceAll('…', ' of it, ')}`;

function reasonsOf({ phrases, url }: CodeRow): string[] {
  const end = url === undefined ? '' : ` ( URL file = ${urls.find((one) => url.test(one)) ?? 'none'} )`;
  return phrases === undefined ? [''] : phrases.split('|').map((phrase) => wordsWith(phrase) + end);
}

/** Every row with each of its codes, subcodes and phrases. */
export const examples: readonly Example[] = codeRows.flatMap((row) =>
  (row.codes ?? [undefined]).flatMap((code) =>
    (row.subcodes ?? [code === undefined ? undefined : 0]).flatMap((subcode) =>
      reasonsOf(row).map((reason) => ({ row, said: { code, subcode, reason } })),
    ),
  ),
);

/** Removals have words and no code. */
export const removalExamples: readonly Example[] = removals.flatMap((row) =>
  reasonsOf(row).map((reason) => ({ row, said: { code: undefined, subcode: undefined, reason } })),
);

export const nameOf = ({ said: { code, subcode, reason } }: Example): string =>
  `${code ?? 'no code'}/${subcode ?? '-'} "${reason}"`;
