export {
  type EntrySink,
  type FileEntry,
  type FolderEntry,
  type HardlinkEntry,
  type SymlinkEntry,
  quoted,
} from './entry.ts';
export { defaultUnpackLimits } from './budget.ts';
export { decompress } from './open-reader.ts';
export {
  countArchiveFiles,
  inspectHead,
  isPage,
  openUnpacker,
  type Unpacked,
  type UnpackerOptions,
} from './open-unpacker.ts';
export { TarReader } from './tar-reader.ts';
export { unpackFetched } from './unpack-fetched.ts';
