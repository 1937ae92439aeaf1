import type { Comparison } from './differential.ts';

interface Difference {
  result: Comparison['result'];
  /** Matched against the archive's name and the message. */
  about: RegExp;
  reason: string;
  /** One of our own cases shows it. */
  isOurs?: true;
}

/** What we refuse and bsdtar does not. */
const refusedByUs: readonly (readonly [about: RegExp, reason: string, isOurs?: true])[] = [
  [
    /is an absolute path|begins with a drive letter/,
    'bsdtar strips the front of such names; verified data keeps its names',
    true,
  ],
  [
    /leaves its folder/,
    'unzip and some versions of bsdtar strip the dots; here a file goes where its name says',
  ],
  [/has a zero byte in its name/, 'bsdtar cuts the name there, and two entries may collide', true],
  [
    /is longer than \d+ bytes|is more than \d+ folders deep/,
    'longer than programs can open below a folder',
    true,
  ],
  [
    /has a name that is not UTF-8|name is not UTF-8/,
    'bsdtar writes the raw bytes; a training cannot name such a file',
    true,
  ],
  [
    /is (?:a character device|a block device|a named pipe|of the unknown type|a directory list|the rest of a file)/,
    'not data: devices and pipes block readers, the rest is for backups',
    true,
  ],
  [/is a sparse file/, 'sparse files are refused by name', true],
  [/is stored without its size/, 'a zip is read front to back: such a file may end anywhere', true],
  [
    /the link .* leads |has too long a target|parts in its target|targets too long/,
    'a link must stay inside whatever else is unpacked there',
    true,
  ],
  [/is both a f/, 'bsdtar replaces a file by a folder; here both are data, and one would be lost'],
  [/has no name|without a name/, 'bsdtar skips it; nothing is skipped silently'],
  [
    /header with an? (?:wrong checksum|unreadable number)/,
    'bsdtar looks for the next good header; the data would have a hole',
    true,
  ],
  [
    /continues after its end|not gzip|not zstd|incorrect header check/,
    'bsdtar stops at the end mark; bytes after it mean that something was lost or concatenated',
    true,
  ],
  [
    /is empty$|only zeros|holds no entries/,
    'bsdtar unpacks nothing; an empty archive is never the intended data',
    true,
  ],
  [/incorrect data check/, 'bsdtar does not compare the checksum of gzip', true],
  [
    /before it is complete|ends inside|has an unknown record|impossible size|a folder .* with data/,
    'bsdtar reads what it can find; here a zip is read front to back and must be complete',
    true,
  ],
  [
    /does not match the entry|lists [\d,]+ entries|wrong position for its directory/,
    'directory and entries of a zip disagree; bsdtar trusts one of them',
    true,
  ],
  [
    /the data of .* does not match its stated size or checksum/,
    'bsdtar reads entries that the directory omits, or trusts the directory',
  ],
  [
    /has an invalid (?:mtime|size|GNU)|pax header that cannot be read|header of [\d,]+ bytes for/,
    'GNU tar refuses it too: a damaged pax record may be a damaged name or size',
  ],
  [
    /^(?!ours).* archive-kind archive: (?:is |uses |does not contain |the entry )/,
    'an unsupported format or compression, refused by name',
  ],
  [/data-wrong archive: is /, 'text instead of an archive: bsdtar reads mtree and other lists'],
];

const others: readonly Difference[] = [
  {
    result: 'trees-differ',
    about: /odd but harmless names/,
    reason: 'bsdtar strips "c:" as a drive',
    isOurs: true,
  },
  {
    result: 'trees-differ',
    about: /pax-global-records|global-header/,
    reason: 'GNU tar applies a global pax path to all that follows, as POSIX says; bsdtar does not',
  },
  {
    result: 'trees-differ',
    about: /in-archive-comment/,
    reason:
      'bsdtar searches from the end and finds another zip in the comment; read from the front there is one',
  },
  {
    result: 'trees-differ',
    about: /nil-uid/,
    reason: "bsdtar takes a camera's own field for GNU's real size; GNU tar agrees with us",
  },
  {
    result: 'theirs-refuses',
    about: /pax-multi-hdrs|pax-path-hdr/,
    reason: 'several pax headers before one entry: the last counts, as with GNU tar',
  },
  {
    result: 'theirs-refuses',
    about: /pax-nul-xattrs/,
    reason: 'attributes are not unpacked, so their names do not matter',
  },
  {
    result: 'theirs-refuses',
    about: /extra data/i,
    reason: 'a truncated extra field is skipped; names and sizes are elsewhere',
  },
];

/** Where we differ from bsdtar, and why. */
export const differences: readonly Difference[] = [
  ...refusedByUs.map(([about, reason, isOurs]): Difference => ({
    result: 'ours-refuses',
    about,
    reason,
    ...(isOurs && { isOurs }),
  })),
  ...others,
];
