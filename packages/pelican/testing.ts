export { wantDigest } from './federation/stat-object.ts';
export { parseMultistatus } from './federation/list-collection.ts';
