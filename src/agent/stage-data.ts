import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import type { Locator } from '../federation/located.ts';
import { createLocator } from '../federation/locator.ts';
import { parseObjectUrl } from '../federation/object-url.ts';
import type { DataSource } from '../job/spec.ts';
import { fetchToFile } from './fetch-local.ts';
import { fetchToStream } from './fetch-local.ts';
import type { Fetched, FetchEvent, FetchOptions } from '../transfer/fetch.ts';
import { archiveKind } from '../unpack/archive-kind.ts';
import { openUnpacker, type UnpackerOptions } from '../unpack/open-unpacker.ts';
import type { Attempt } from './attempt.ts';
import { recordOf } from './ending.ts';

const progressEveryMs = 1000;

/** Brings every data source into the work folder, where it appears only when it is whole. */
export async function stageData(attempt: Attempt): Promise<void> {
  const { env, clock, cwd, uid, version } = attempt.world;
  if (attempt.order.data.length === 0) return;
  const locator = createLocator({ env, clock, cwd, uid, version });
  for (const source of attempt.order.data) await stageSource(source, attempt, locator);
}

async function stageSource(source: DataSource, attempt: Attempt, locator: Locator): Promise<void> {
  const { world, note } = attempt;
  world.signal.throwIfAborted();
  note({ kind: 'phase', phase: 'fetching' });
  // The URL may carry a token; journals and messages must not.
  const object = parseObjectUrl(source.url, world.env).text;
  const options: FetchOptions = {
    locator,
    clock: world.clock,
    signal: world.signal,
    onEvent: tellEvents(object, attempt),
    ...(source.tokenFile === undefined ? {} : { tokenFile: source.tokenFile }),
    ...(source.sha256 === undefined ? {} : { sha256: source.sha256 }),
    ...(source.expect.bytes === undefined ? {} : { bytes: source.expect.bytes }),
  };
  const name = path.posix.basename(new URL(object).pathname);
  const mode = source.unpack === 'auto' && archiveKind(name) === undefined ? 'none' : source.unpack;
  if (mode === 'none') await stageFile(source, decodeURIComponent(name), object, options, attempt);
  else await stageArchive(source, mode, object, options, attempt);
}

async function stageFile(
  source: DataSource,
  name: string,
  object: string,
  options: FetchOptions,
  { scratch, note }: Attempt,
): Promise<void> {
  const draft = path.join(scratch.stage, source.name);
  const fetched = await fetchToFile(source.url, draft, options);
  note({ kind: 'fetched', object, ...fetched });
  const folder = path.join(scratch.work, source.into);
  await mkdir(folder, { recursive: true });
  await rename(draft, path.join(folder, name));
}

async function stageArchive(
  source: DataSource,
  mode: UnpackerOptions['mode'],
  object: string,
  options: FetchOptions,
  { scratch, note }: Attempt,
): Promise<void> {
  const { files } = source.expect;
  const unpacker = openUnpacker({
    name: object,
    mode,
    into: path.join(scratch.work, source.into),
    ...(files === undefined ? {} : { expect: { files } }),
  });
  try {
    const fetched = await fetchToStream(source.url, (chunk) => unpacker.write(chunk), options);
    note({ kind: 'fetched', object, ...fetched });
    note({ kind: 'phase', phase: 'unpacking' });
    const { files: count, bytes } = await unpacker.finish();
    note({ kind: 'unpacked', object, files: count, bytes, proven: isProven(fetched) });
  } catch (error) {
    await unpacker.abort();
    throw error;
  }
}

const isProven = ({ verified }: Fetched): boolean => verified === 'manifest' || verified === 'digest';

function tellEvents(object: string, { world, note }: Attempt): (event: FetchEvent) => void {
  let toldAt = -Infinity;
  return (event) => {
    if (event.kind === 'setback') {
      note({ kind: 'fetch-setback', object, server: event.server, fault: recordOf(event.fault) });
      return;
    }
    const now = world.clock.monotonic();
    if (now - toldAt < progressEveryMs) return;
    toldAt = now;
    const { bytes, total, rate, server } = event;
    note({
      kind: 'fetch-progress',
      object,
      bytes,
      rate,
      server,
      ...(total === undefined ? {} : { total }),
    });
  };
}
