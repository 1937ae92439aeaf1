import type { Comparison } from './differential.ts';

interface Difference {
  result: Comparison['result'];
  /** Held against the archive's name and what was said of it. */
  about: RegExp;
  reason: string;
  /** One of our own archives shows it. */
  isOurs?: true;
}

/** What we refuse and bsdtar does not. Its own words are not looked at. */
const refusedByUs: readonly (readonly [about: RegExp, reason: string, isOurs?: true])[] = [
  [
    /is an absolute path|begins with a drive letter/,
    'bsdtar strips the front of such names; data that is to be proven keeps its names',
    true,
  ],
  [
    /climbs out of its folder/,
    'unzip and some bsdtar strip the dots; nothing is put where its name does not say',
  ],
  [/has a zero byte in its name/, 'bsdtar cuts the name there, and two entries may become one', true],
  [
    /is longer than \d+ bytes|lies more than \d+ folders deep/,
    'beyond what programs can open below a folder of their own',
    true,
  ],
  [
    /has a name that is not UTF-8|says that its name is UTF-8/,
    'bsdtar writes the bytes as they are; a training cannot name such a file',
    true,
  ],
  [
    /is (?:a character device|a block device|a named pipe|of the unknown type|a folder list|the continuation)/,
    'no data: devices and pipes block readers, the rest is for backups',
    true,
  ],
  [
    /is a sparse file as (?:star|Solaris)/,
    'a sparse format of which bsdtar too reads only some: refused by name',
    true,
  ],
  [
    /the link .* leads |has a target too long/,
    'a link must stay inside whatever else is unpacked there',
    true,
  ],
  [/at once$/, 'bsdtar replaces a file by a folder; here both are data, and one would be lost'],
  [/has no name|without a name/, 'bsdtar passes it over; nothing is passed over in silence'],
  [
    /header with a (?:wrong checksum|number that cannot)/,
    'bsdtar looks for the next good header; the data would have a hole',
    true,
  ],
  [
    /goes on after its end|not gzip|not bzip2|not zstd|not xz|incorrect header check/,
    'bsdtar stops at the end mark; bytes behind it mean that something was lost or joined',
    true,
  ],
  [
    /is empty$|only zeros|holds no entries/,
    'bsdtar unpacks nothing; an empty archive is never the data that was meant',
    true,
  ],
  [/incorrect data check/, 'bsdtar does not compare the checksum of gzip', true],
  [
    /before it is complete|ends inside|has an unknown record|impossible size|a folder .* with data/,
    'bsdtar reads what it can find; a zip here is read from front to back and must be whole',
    true,
  ],
  [
    /lists the entry|lists [\d,]+ entries|directory lies where/,
    'directory and entries of a zip disagree; bsdtar believes one of them',
    true,
  ],
  [
    /the data of .* does not have the size or checksum/,
    'bsdtar reads entries that the directory leaves out, or believes it',
  ],
  [
    /the map of the sparse file/,
    'bsdtar takes maps that overlap, are too short or have comments; the file would not be what was packed',
    true,
  ],
  [
    /has the (?:mtime|size|GNU)|pax header that cannot be read|header of [\d,]+ bytes for/,
    'GNU tar refuses it too: a damaged pax record may be a damaged name or size',
  ],
  [
    /^(?!ours).* archive-kind archive: (?:is |uses |the entry )/,
    'a format or a compression that is not supported, refused by its name',
  ],
  [
    /uses (?:the .* filter|SHA-256|a filter|a dictionary)/,
    'not in the decoder; the message says how to repack',
    true,
  ],
  [/data-wrong archive: is /, 'text where an archive was promised: bsdtar reads mtree and other lists'],
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
    about: /code page 437|cp437|cp866|cp932|koi8|sjis|utf8.*zip|zip.*utf8|non.?ascii|umlaut|filename.*zip/i,
    reason:
      'bsdtar writes bytes of an unknown code page as they are, or uses the locale; the zip format says code page 437',
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
    reason: 'bsdtar searches from the end and finds another zip in the comment; from the front there is one',
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
    reason: 'attributes are not unpacked, so that their names do not matter',
  },
  {
    result: 'theirs-refuses',
    about: /extra data/i,
    reason: 'a torn extra field is passed over; names and sizes stand elsewhere',
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
