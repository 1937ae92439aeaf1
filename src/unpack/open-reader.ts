import type { ArchiveKind } from './archive-kind.ts';
import type { ByteSink } from './byte-sink.ts';
import type { EntrySink } from './entry.ts';
import { GunzipStage } from './gunzip-stage.ts';
import type { Limits } from './limits.ts';
import { PullStage } from './pull-stage.ts';
import { TarReader } from './tar-reader.ts';
import { Unxz } from './unxz.ts';
import { UnzstdStage } from './unzstd-stage.ts';
import { ZipReader } from './zip-reader.ts';

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
      return { input: new GunzipStage(archive, tar, limits), ended };
    case 'tar.zst':
      return { input: new UnzstdStage(archive, tar, limits), ended };
    case 'tar.xz':
      return { input: new PullStage(archive, () => new Unxz(archive, tar, limits).parse(), tar), ended };
    case 'zip': {
      const zip = new ZipReader(archive, sink, limits);
      return { input: new PullStage(archive, (queue) => zip.parse(queue)), ended: () => zip.ended };
    }
  }
}
