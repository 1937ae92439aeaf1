import { causeInfo, type CodeRow, codeRows, type Remedy, removals, whoMustAct } from '@updraft/account/codes';

const remedies: Record<Remedy | 'requeued', string> = {
  elsewhere: 'tried again elsewhere',
  later: 'tried again later',
  'more-memory': 'tried again with more memory',
  'more-disk': 'tried again with more disk',
  never: 'nothing',
  requeued: 'HTCondor puts it back into the queue',
};

/** A row's codes as `12/28`. */
export const codesOf = ({ codes = [], subcodes }: CodeRow): string[] =>
  codes.flatMap((code) => subcodes?.map((subcode) => `${code}/${subcode}`) ?? [String(code)]);

/** A row's sentence without the details of a job. */
const sentenceOf = ({ sentence }: CodeRow): string =>
  `${sentence
    .replaceAll(/\{\w+(?:\|([^}]*))?\}/g, (_, otherwise: string | undefined) => otherwise ?? '')
    .replaceAll(/ {2,}/g, ' ')
    .replace(/\.$/, '')}.`;

/** The first phrases of a row. */
function phrasesOf(words: string | undefined): string {
  const [first, second, ...more] = words?.split('|').map((phrase) => `“${phrase}”`) ?? [];
  return [first, second].filter(Boolean).join(', ') + (more.length > 0 ? ' and the like' : '');
}

const line = (row: CodeRow, codes: string): string => {
  const { phrases, cause, fault, answer = 'never' } = row;
  const cells = [
    codes,
    phrasesOf(phrases),
    sentenceOf(row),
    `\`${cause}\``,
    `\`${fault ?? causeInfo(cause).fault}\``,
    codes === 'any' ? 'as its code says' : remedies[answer],
    whoMustAct(row),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
};

/** What each code means, generated from the table in the code. */
export const codesTable = (): string =>
  [
    '| code | with the words | what happened | cause | fault | what is done | who must act |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...codeRows.map((row) => line(row, codesOf(row).join(', ') || 'any')),
    ...removals.map((row) => line(row, 'removed')),
  ].join('\n');
