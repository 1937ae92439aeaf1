import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { errorReason } from '../base/error-reason.ts';
import { isGone } from '../base/is-gone.ts';
import { Fault } from '../fault/fault.ts';

/** What stands at a path that the user named; undefined for nothing. What may not be looked at is told as such. */
export async function lookAt(file: string): Promise<Stats | undefined> {
  try {
    return await stat(file);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw new Fault('file-invalid', `${file} cannot be read: ${errorReason(error)}`, {
      about: file,
      fix: 'ask its owner to let you read it and the folders above it, or name another',
      cause: error,
    });
  }
}
