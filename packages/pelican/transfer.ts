export { alreadyThere } from './transfer/already-there.ts';
export type { Turn } from './transfer/engine/turn.ts';
export { fetchToFile } from './transfer/fetch-to-file.ts';
export { fetchToStream } from './transfer/fetch-to-stream.ts';
export type { FetchEvent, FetchOptions, Fetched, Verification } from './transfer/fetch.ts';
export { crc32cOf } from './transfer/proof/crc32c.ts';
export { deliverAgainIfWrong } from './transfer/proof/expect-wrong.ts';
export { type Manifest, parseManifest, tagger, withoutKey } from './transfer/proof/manifest.ts';
export {
  type ListedShard,
  besideList,
  parseShardList,
  shardListText,
  sumOf,
} from './transfer/proof/shard-list.ts';
export { type Put, putObject, statFile } from './transfer/put-object.ts';
