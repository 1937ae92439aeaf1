export type { EntrySink, FileEntry, FolderEntry, HardlinkEntry, SymlinkEntry } from './entry.ts';
export { countArchiveFiles, inspectHead, isPage } from './inspect-head.ts';
export { defaultUnpackLimits } from './limits.ts';
export { decompress } from './open-reader.ts';
export { type Unpacked, type UnpackerOptions, openUnpacker } from './open-unpacker.ts';
export { quoted } from './safe-path.ts';
export { TarReader } from './tar-reader.ts';
export { unpackFetched } from './unpack-fetched.ts';
