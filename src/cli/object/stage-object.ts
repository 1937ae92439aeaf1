import { hash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defined, isThere } from '@updraft/base';
import { removeTree, replaceFile } from '@updraft/base/disk';
import { Fault, usageFault } from '@updraft/account/fault';
import {
  type FederationLocator,
  type ObjectInfo,
  parseObjectUrl,
  statObject,
} from '@updraft/pelican/federation';
import { type Manifest, putObject, shardListText, withoutKey } from '@updraft/pelican/transfer';
import { type Seal, fingerprint, sealFile, writeShard, type Shard, countFiles } from '../../stage/shards.ts';
import { type StagedObject, StagedRecord } from '../../stage/staged-record.ts';
import type { Cli } from '../cli.ts';
import { miniFolder } from '../mini/state-folder.ts';
import { boardMode, TransferBoard } from './board.ts';
import { manifestSuffix } from '../../preflight/object-proof.ts';
import { below, openFederation } from './access.ts';
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
  /** The name of the list of all objects, once its hash is known, and of how many one is made. */
  list?: { nameOf: (sha8: string) => string; minShards: number };
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

/** Stages shard after shard, then their list; `report` returns what to print for each shard. */
export async function stageAll(
  cli: Cli,
  request: StageRequest,
  shards: AsyncIterable<Shard> | Iterable<Shard>,
  options: { json?: true; quiet?: true; report: (object: StagedObject) => string | undefined },
): Promise<{ objects: StagedObject[]; list?: { name: string; sha256: string } }> {
  const scratch = await mkdtemp(path.join(cli.env['TMPDIR'] ?? os.tmpdir(), 'updraft-stage-'));
  const board = new TransferBoard(cli, boardMode(cli, options), 0);
  try {
    const record = await StagedRecord.open(recordFile(cli, request));
    const staging = { ...request, cli, board, scratch, federation: openFederation(cli), record };
    const objects: StagedObject[] = [];
    for await (const shard of shards) {
      const object = await stageObject(staging, shard);
      objects.push(object);
      const said = options.report(object);
      if (said !== undefined) board.print(said);
    }
    const { list } = request;
    if (list === undefined || objects.length < list.minShards) return { objects };
    return { objects, list: await stageList(staging, objects, list.nameOf) };
  } finally {
    board.close();
    await removeTree(scratch);
  }
}

/** Refuses a local path, before anything is read. */
export function checkFederated(cli: Cli, url: string): void {
  if (parseObjectUrl(url, cli.env).kind !== 'file') return;
  throw usageFault(
    `${url} is on this machine, not in a federation`,
    'write osdf:///PATH or pelican://HOST/PATH',
    url,
  );
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
    return { ...known, samples: shard.samples };
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
    const manifest = withoutKey(seal.manifest);
    await uploadText(staging, `${name}${manifestSuffix}`, `${JSON.stringify(manifest)}\n`);
    await keepText(staging, `${name}${manifestSuffix}`, `${JSON.stringify(seal.manifest)}\n`);
    const object = {
      index,
      fingerprint: mark,
      name,
      bytes,
      sha256,
      files: countFiles(files),
      samples: shard.samples,
      manifest,
    };
    await record.add(object);
    return object;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Uploads the list of the objects; the one that is kept here has the keys of their manifests. */
async function stageList(
  staging: Staging,
  objects: readonly StagedObject[],
  nameOf: (sha8: string) => string,
): Promise<{ name: string; sha256: string }> {
  const text = shardListText(
    objects.map(({ name, files, samples, manifest }) => ({ name, files, samples, manifest })),
  );
  const sha256 = hash('sha256', text);
  const name = nameOf(sha256.slice(0, 8));
  await uploadText(staging, name, text);
  const { manifests } = staging;
  if (manifests !== undefined) {
    const kept = objects.map(async ({ name, files, samples }) => {
      const proof = await readFile(path.join(manifests, `${name}${manifestSuffix}`), 'utf8');
      return { name, files, samples, manifest: JSON.parse(proof) as Manifest };
    });
    await keepText(staging, name, shardListText(await Promise.all(kept)));
  }
  return { name, sha256 };
}

/** It contains secret keys, so only its owner may read it. */
async function keepText({ manifests }: Staging, name: string, text: string): Promise<void> {
  if (manifests === undefined) return;
  await mkdir(manifests, { recursive: true });
  await replaceFile(path.join(manifests, name), text, { mode: 0o600 });
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

/** Uploads a text, unless the origin has one of its size. */
async function uploadText(staging: Staging, name: string, text: string): Promise<void> {
  const there = await ask(staging, name);
  if (there?.size === Buffer.byteLength(text)) return;
  const draft = path.join(staging.scratch, 'text.json');
  await writeFile(draft, text);
  await putObject(draft, below(staging.url, name), { ...access(staging), overwrite: there !== undefined });
}
