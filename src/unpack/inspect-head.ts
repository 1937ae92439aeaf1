import { Fault } from '../fault/fault.ts';
import type { EntrySink } from './entry.ts';
import { KindGate } from './kind-gate.ts';
import { defaultUnpackLimits } from './limits.ts';
import { NestedSink } from './nested-sink.ts';
import { openReader } from './open-reader.ts';
import type { UnpackerOptions } from './open-unpacker.ts';

/** Discards all entries. */
const nothing: EntrySink = {
  begin: () => undefined,
  data: () => undefined,
  hole: () => undefined,
  end: () => undefined,
  place: () => undefined,
  amend: () => undefined,
};

/**
 * Reads the first bytes of an archive and returns why it cannot be unpacked, if they show it. Damage counts only if the
 * bytes are the `whole` archive: a beginning always looks cut.
 */
export async function inspectHead(
  head: Buffer,
  { name, mode, whole }: { name: string; mode: UnpackerOptions['mode']; whole: boolean },
): Promise<Fault | undefined> {
  const inner: { destroy(): void }[] = [];
  const nested = new NestedSink(
    name,
    nothing,
    (kind, innerName, sink) => {
      const { input } = openReader(kind, innerName, sink, defaultUnpackLimits);
      inner.push(input);
      return input;
    },
    () => undefined,
  );
  const sink = mode === 'nested' ? nested : nothing;
  const declared = mode === 'auto' || mode === 'nested' ? undefined : mode;
  const gate = new KindGate(
    name,
    declared,
    (kind) => openReader(kind, name, sink, defaultUnpackLimits).input,
  );
  try {
    await gate.write(head);
    await gate.end();
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return whole || error.kind !== 'archive-damaged' ? error : undefined;
  } finally {
    gate.destroy();
    for (const one of inner) one.destroy();
  }
}
