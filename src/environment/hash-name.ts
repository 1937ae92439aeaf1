import path from 'node:path';

/** `name-1a2b3c4d.sh`: caches hand out what they first saw under a name, so the name holds a part of the content's hash. */
export function hashName(file: string, sha256: string): string {
  const base = path.basename(file);
  const ending = /(?:\.tar)?\.[A-Za-z][A-Za-z0-9]*$/.exec(base)?.[0] ?? '';
  const mark = `-${sha256.slice(0, 8)}`;
  const stem = base.slice(0, base.length - ending.length);
  return stem.endsWith(mark) ? base : `${stem}${mark}${ending}`;
}
