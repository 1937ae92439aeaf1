import { hash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { isThere } from '../../base/error-reason.ts';
import { Fault } from '../../fault/fault.ts';
import type { FederationLocator } from '../../federation/locator.ts';
import { parseObjectUrl } from '../../federation/object-url.ts';
import { putObject } from '../../transfer/put-object.ts';
import { statObject, type ObjectInfo } from '../../federation/stat-object.ts';
import type { Seal } from '../../stage/manifest-maker.ts';
import { fingerprint, sealFile, writeShard, type Shard } from '../../stage/shards.ts';
import { type StagedObject, StagedRecord } from '../../stage/staged-record.ts';
import { withoutKey } from '../../transfer/proof/manifest.ts';
import type { Cli } from '../cli.ts';
import { miniFolder } from '../mini/state-folder.ts';
import { boardMode, TransferBoard } from './board.ts';
import { below, manifestSuffix, openFederation } from './access.ts';
import { describeVerified } from './describe-transfer.ts';

/** What a command specifies for a staging. */
interface StageRequest {
  /** The file or folder to stage, and the URL of the folder for its objects. */
  source: string;
  url: string;
  tokenFile?: string | undefined;
  /** Local folder for manifests with a key that caches must not see. */
  manifests?: string | undefined;
  /** The object's name, once its hash is known. */
  nameOf: (index: number, sha8: string) => string;
  /** The source is a file that is uploaded unchanged. */
  asItIs: boolean;
}

/** What staging one object needs. */
interface Staging extends StageRequest {
  cli: Cli;
  board: TransferBoard;
  federation: FederationLocator;
  record: StagedRecord;
  /** Folder for the shard being written. */
  scratch: string;
}

/** Stages shard after shard; `report` returns what to print for each. */
export async function stageAll(
  cli: Cli,
  request: StageRequest,
  shards: AsyncIterable<Shard> | Iterable<Shard>,
  options: { json?: true; quiet?: true; report: (object: StagedObject) => string },
): Promise<void> {
  const scratch = await mkdtemp(path.join(cli.env['TMPDIR'] ?? os.tmpdir(), 'updraft-stage-'));
  const board = new TransferBoard(cli, boardMode(cli, options), 0);
  try {
    const record = await StagedRecord.open(recordFile(cli, request));
    const staging = { ...request, cli, board, scratch, federation: openFederation(cli), record };
    for await (const shard of shards) board.print(options.report(await stageObject(staging, shard)));
  } finally {
    board.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Refuses a local path, before anything is read. */
export function checkFederated(cli: Cli, url: string): void {
  if (parseObjectUrl(url, cli.env).kind !== 'file') return;
  throw new Fault('usage', `${url} is on this machine, not in a federation`, {
    about: url,
    fix: 'write osdf:///PATH or pelican://HOST/PATH',
  });
}

/** The same source and URL are the same staging, wherever the command runs. */
function recordFile(cli: Cli, { source, url }: StageRequest): string {
  const name = hash('sha256', `${source}\n${url.replace(/\/+$/, '')}`).slice(0, 16);
  return path.join(miniFolder(cli, 'stage', undefined), `${name}.jsonl`);
}

/** Uploads one shard (or the one file) with its manifest, unless it is already there. */
async function stageObject(staging: Staging, shard: Shard): Promise<StagedObject> {
  const { board, record } = staging;
  const { index, files } = shard;
  const mark = fingerprint(files);
  const known = record.find(index, mark);
  const isKept = known === undefined || (await hasManifest(staging, known.name));
  if (known !== undefined && isKept && (await stillExists(staging, known))) {
    board.news(`${known.name}: already there`);
    return known;
  }
  if (known !== undefined && isKept)
    board.news(`${known.name}: uploaded earlier, but the origin no longer has it: uploading it again`);
  else if (record.hadOther(index))
    board.news(`${staging.nameOf(index, '*')}: its files changed since it was staged: packing it again`);
  const draft = path.join(staging.scratch, `shard-${index}.tar`);
  try {
    const seal = await make(staging, shard, draft);
    const { bytes, sha256 } = seal.manifest;
    const name = staging.nameOf(index, sha256.slice(0, 8));
    await upload(staging, { file: staging.asItIs ? (files[0]?.file ?? '') : draft, name, seal });
    await uploadManifest(staging, name, seal, `${draft}.json`);
    await keepManifest(staging, name, seal);
    const object = { index, fingerprint: mark, name, bytes, sha256, files: files.length };
    await record.add(object);
    return object;
  } finally {
    await rm(draft, { force: true });
  }
}

/** It contains a secret key, so only its owner may read it. */
async function keepManifest({ manifests }: Staging, name: string, { manifest }: Seal): Promise<void> {
  if (manifests === undefined) return;
  await mkdir(manifests, { recursive: true });
  const file = path.join(manifests, `${name}${manifestSuffix}`);
  await writeFile(`${file}.part`, `${JSON.stringify(manifest)}\n`, { mode: 0o600 });
  await rename(`${file}.part`, file);
}

async function hasManifest({ manifests }: Staging, name: string): Promise<boolean> {
  if (manifests === undefined) return true;
  return isThere(path.join(manifests, `${name}${manifestSuffix}`));
}

async function stillExists(staging: Staging, { name, bytes }: StagedObject): Promise<boolean> {
  const [object, manifest] = await Promise.all([
    ask(staging, name),
    ask(staging, `${name}${manifestSuffix}`),
  ]);
  return object?.size === bytes && manifest !== undefined;
}

/** What the origin says about an object; undefined where it has none, or access is denied. */
async function ask(staging: Staging, name: string, digest = false): Promise<ObjectInfo | undefined> {
  try {
    return await statObject(below(staging.url, name), {
      ...access(staging),
      direct: true,
      fresh: true,
      digest,
    });
  } catch (error) {
    if (error instanceof Fault && ['object-missing', 'token-refused'].includes(error.kind)) return undefined;
    throw error;
  }
}

const access = ({ cli, federation, tokenFile }: Staging) => ({
  federation,
  signal: cli.signal,
  ...defined({ tokenFile }),
});

function make({ cli, board, asItIs, nameOf }: Staging, shard: Shard, draft: string): Promise<Seal> {
  const [file] = shard.files;
  return board.during(`${asItIs ? 'hashing' : 'packing'} ${nameOf(shard.index, '*')}`, (done) => {
    let bytes = 0;
    const onBytes = (more: number): void => done((bytes += more), asItIs ? file?.bytes : shard.bytes);
    const watch = { signal: cli.signal, onBytes };
    return asItIs && file !== undefined ? sealFile(file, watch) : writeShard(shard, draft, watch);
  });
}

/** Uploads it unless the origin has it; the name contains the content's hash, so other content means damage. */
async function upload(
  staging: Staging,
  { file, name, seal }: { file: string; name: string; seal: Seal },
): Promise<void> {
  const { board } = staging;
  const there = await ask(staging, name, true);
  const isSame = there?.size === seal.manifest.bytes && (there.digests.md5 ?? seal.md5) === seal.md5;
  if (there !== undefined && isSame) {
    const proof = there.digests.md5 === undefined ? 'size' : 'digest';
    board.news(`${name}: the origin already has it; ${describeVerified(proof)}`);
    return;
  }
  if (there !== undefined) board.news(`${name}: the origin's copy is damaged: replacing it`);
  const to = { ...access(staging), overwrite: there !== undefined };
  const put = await board.during(name, (onProgress) =>
    putObject(file, below(staging.url, name), { ...to, onProgress }),
  );
  board.news(`${name}: uploaded; ${describeVerified(put.verified)}`);
}

async function uploadManifest(
  staging: Staging,
  name: string,
  { manifest }: Seal,
  draft: string,
): Promise<void> {
  const text = `${JSON.stringify(withoutKey(manifest))}\n`;
  const there = await ask(staging, `${name}${manifestSuffix}`);
  if (there?.size === Buffer.byteLength(text)) return;
  await writeFile(draft, text);
  try {
    const url = below(staging.url, `${name}${manifestSuffix}`);
    await putObject(draft, url, { ...access(staging), overwrite: there !== undefined });
  } finally {
    await rm(draft, { force: true });
  }
}
