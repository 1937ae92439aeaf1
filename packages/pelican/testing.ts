export { wantDigest } from './federation/digest-header.ts';
export { parseMultistatus } from './federation/list-collection.ts';
