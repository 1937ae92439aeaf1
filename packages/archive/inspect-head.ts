import { Fault } from './fault.ts';
import type { ArchiveKind } from '@updraft/base';
import type { ByteSink, EntrySink } from './entry.ts';
import { isLinkMode } from './file-writer.ts';
import { detectText, KindGate, pageText } from './kind-gate.ts';
import { defaultUnpackLimits } from './budget.ts';
import { NestedSink, type UnpackerOptions } from './open-unpacker.ts';
import { openReader } from './open-reader.ts';

/** Discards all entries. */
const nothing: EntrySink = {
  begin: () => undefined,
  data: () => undefined,
  end: () => undefined,
  place: () => undefined,
  amend: () => undefined,
};

interface Inspection {
  name: string;
  mode: UnpackerOptions['mode'];
}

/** Reads an archive and writes nothing. */
function openInspector({ name, mode }: Inspection, sink: EntrySink): ByteSink {
  const inner: { destroy(): void }[] = [];
  const nested = new NestedSink(
    name,
    sink,
    (kind, innerName, innerSink) => {
      const { input } = openReader(kind, innerName, innerSink, defaultUnpackLimits);
      inner.push(input);
      return input;
    },
    () => undefined,
  );
  const outer = mode === 'nested' ? nested : sink;
  const declared = mode === 'auto' || mode === 'nested' ? undefined : mode;
  const open = (kind: ArchiveKind): ByteSink => openReader(kind, name, outer, defaultUnpackLimits).input;
  const gate = new KindGate(name, declared, open);
  return {
    write: (piece) => gate.write(piece),
    end: () => gate.end(),
    destroy() {
      gate.destroy();
      for (const one of inner) one.destroy();
    },
  };
}

/**
 * Reads the first bytes of an archive and returns why it cannot be unpacked, if they show it. Damage counts only if the
 * bytes are the `whole` archive: a beginning always looks cut.
 */
export async function inspectHead(
  head: Buffer,
  { whole, ...inspection }: Inspection & { whole: boolean },
): Promise<Fault | undefined> {
  const input = openInspector(inspection, nothing);
  try {
    await input.write(head);
    await input.end();
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return whole || error.kind !== 'archive-damaged' ? error : undefined;
  } finally {
    input.destroy();
  }
}

/** The number of files in an archive, as unpacking would count them; undefined once `isOver`. */
export async function countArchiveFiles(
  chunks: AsyncIterable<Buffer>,
  inspection: Inspection,
  isOver: () => boolean,
): Promise<number | undefined> {
  const files = new Set<string>();
  const input = openInspector(inspection, {
    ...nothing,
    begin: ({ path }) => void files.add(path),
    place({ type, path }) {
      if (type === 'hardlink') files.add(path);
      else files.delete(path);
    },
    amend(path, mode) {
      if (isLinkMode(mode)) files.delete(path);
    },
  });
  try {
    for await (const chunk of chunks) {
      if (isOver()) return undefined;
      await input.write(chunk);
    }
    await input.end();
    return files.size;
  } finally {
    input.destroy();
  }
}

/** Whether a web server answered with a page. */
export const isPage = (head: Buffer): boolean => detectText(head).other === pageText;
