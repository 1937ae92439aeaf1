import { shellQuote } from './shell-quote.ts';

/** Archives that can be unpacked, with the endings of their names. The compiler names what a new kind needs. */
const endings = {
  tar: ['.tar'],
  'tar.gz': ['.tar.gz', '.tgz'],
  'tar.zst': ['.tar.zst', '.tzst'],
  zip: ['.zip'],
} as const;

export type ArchiveKind = keyof typeof endings;

export const archiveKinds = Object.keys(endings) as ArchiveKind[];

/** The kind of archive by its name, if it can be unpacked. */
export const archiveKind = (name: string): ArchiveKind | undefined => splitArchiveName(name)?.kind;

/**
 * What to do with an archive that is refused by its name: `.tar.xz` and `.tar.bz2`, whose decompressors would be a
 * twentieth of what every job gets. Undefined for any other name.
 */
export function repacking(name: string): { program: 'xz' | 'bzip2'; fix: string } | undefined {
  const [old, stem, xz] = /([^/?#]+)\.(?:(tar\.xz|txz)|tar\.bz2|tbz2?)(?=$|[?#])/i.exec(name) ?? [];
  if (old === undefined) return undefined;
  const program = xz === undefined ? 'bzip2' : 'xz';
  const fix = `repack it: ${program} -dc ${shellQuote(old)} | zstd -T0 > ${shellQuote(`${stem}.tar.zst`)}`;
  return { program, fix };
}

/** Whether a name says that the object is an archive, also one that is refused. */
export const isArchiveName = (name: string): boolean =>
  archiveKind(name) !== undefined || repacking(name) !== undefined;

/** A name without its archive ending, and the kind of that ending. */
export function splitArchiveName(name: string): { stem: string; kind: ArchiveKind } | undefined {
  const lower = name.toLowerCase();
  for (const kind of archiveKinds)
    for (const ending of endings[kind])
      if (lower.endsWith(ending) && lower.length > ending.length)
        return { stem: name.slice(0, -ending.length), kind };
  return undefined;
}

/** The ending of a list of shards, which stands for the archives that it names. */
export const shardListEnding = '.shards.json';

/** Whether a data source is a list of shards. */
export const isShardList = ({ url, unpack }: { url: string; unpack: string }): boolean =>
  unpack === 'auto' && url.replace(/[?#].*$/, '').endsWith(shardListEnding);
