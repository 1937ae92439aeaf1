import type { ArchiveKind } from './archive-kind.ts';
import type { ByteSink } from './byte-sink.ts';
import type { EntrySink } from './entry.ts';
import type { Limits } from './limits.ts';
import { TarReader } from './tar-reader.ts';
import { ZlibStage } from './zlib-stage.ts';

export interface Reader {
  /** Where the archive's bytes go. */
  input: ByteSink;
  /** Whether the archive has said that it is over. */
  ended(): boolean;
}

/** Opens what is needed to read one kind of archive; `archive` names it in messages. */
export function openReader(kind: ArchiveKind, archive: string, sink: EntrySink, limits: Limits): Reader {
  const tar = new TarReader(archive, sink, limits);
  const ended = (): boolean => tar.ended;
  switch (kind) {
    case 'tar':
      return { input: tar, ended };
    case 'tar.gz':
      return { input: new ZlibStage('gzip', archive, tar, limits), ended };
    case 'tar.zst':
      return { input: new ZlibStage('zstd', archive, tar, limits), ended };
    case 'tar.xz':
    case 'zip':
      throw new Error(`${kind} is not read yet`);
  }
}
