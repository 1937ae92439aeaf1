/** Archives that can be unpacked, with the endings of their names. The compiler names what a new kind needs. */
const endings = {
  tar: ['.tar'],
  'tar.gz': ['.tar.gz', '.tgz'],
  'tar.zst': ['.tar.zst', '.tzst'],
  'tar.xz': ['.tar.xz', '.txz'],
  'tar.bz2': ['.tar.bz2', '.tbz2', '.tbz'],
  zip: ['.zip'],
} as const;

export type ArchiveKind = keyof typeof endings;

export const archiveKinds = Object.keys(endings) as ArchiveKind[];

/** The kind of archive by its name, if it can be unpacked. */
export const archiveKind = (name: string): ArchiveKind | undefined => splitArchiveName(name)?.kind;

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
