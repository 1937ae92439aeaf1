import path from 'node:path';

/**
 * `NODE_COMPILE_CACHE` of every command that tests start, also with a new home: stripping types and compiling take
 * three times as long as the rest of a start.
 */
export const compileCache =
  process.env['NODE_COMPILE_CACHE'] ?? path.resolve(import.meta.dirname, '../node_modules/.cache/compiled');
