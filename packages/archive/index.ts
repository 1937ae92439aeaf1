export {
  type EntrySink,
  type FileEntry,
  type FolderEntry,
  type HardlinkEntry,
  type SymlinkEntry,
  quoted,
} from './entry.ts';
export { countArchiveFiles, inspectHead, isPage } from './inspect-head.ts';
export { defaultUnpackLimits } from './budget.ts';
export { decompress } from './open-reader.ts';
export { type Unpacked, type UnpackerOptions, openUnpacker } from './open-unpacker.ts';
export { TarReader } from './tar-reader.ts';
export { unpackFetched } from './unpack-fetched.ts';
