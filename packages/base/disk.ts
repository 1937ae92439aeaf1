export { ensureFolder } from './ensure-folder.ts';
export { type Removed, removeTree } from './remove-tree.ts';
export { appendHere, replaceFile } from './replace-file.ts';
export { piecesOf, sha256Of } from './sha256-of.ts';
export { ignoreUnsyncable, syncPath } from './sync-path.ts';
export { walkFiles, walkTree } from './walk-tree.ts';
