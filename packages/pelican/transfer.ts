export { alreadyThere, fetchToFile } from './transfer/fetch-to-file.ts';
export type { Turn } from './transfer/engine/turn.ts';
export { fetchToStream } from './transfer/fetch-to-stream.ts';
export type { FetchEvent, FetchOptions, Fetched, Verification } from './transfer/fetch.ts';
export { deliverAgainIfWrong } from './transfer/proof/verify.ts';
export {
  type Manifest,
  parseManifest,
  tagger,
  withoutKey,
  type ListedShard,
  besideList,
  parseShardList,
  shardListText,
  sumOf,
} from './transfer/proof/manifest.ts';
export { type Put, putObject, statFile } from './transfer/put-object.ts';
