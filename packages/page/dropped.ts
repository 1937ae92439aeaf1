export { type Drop, readDrop } from './drop.ts';
export { lintDropped, lintDroppedDag } from './dropped-submit.ts';
