import { lstatSync, type Stats } from 'node:fs';
import { freeBytes, isGone } from '@updraft/base';
import { Fault } from './fault.ts';

/** A failed file operation as a Fault; other errors are returned unchanged. */
export function diskFault(error: unknown, folder: string, written: number): unknown {
  if (error instanceof Fault || !isErrno(error)) return error;
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') return diskFull(error, folder, written);
  if (error.code === 'ENAMETOOLONG')
    return new Fault('archive-unsafe', `A name in the archive is too long for ${folder}: ${error.message}`, {
      about: folder,
      cause: error,
    });
  return new Fault('scratch-unusable', `cannot write to ${folder}: ${error.message}`, {
    about: folder,
    cause: error,
  });
}

export function errorCode(error: unknown): string | undefined {
  return isErrno(error) ? error.code : undefined;
}

/** The stat of a path, links not followed; undefined if there is nothing. */
export function lstatIfExists(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function diskFull(error: NodeJS.ErrnoException, folder: string, written: number): Fault {
  const free = freeBytes(folder);
  const left = free === undefined ? '' : `, ${free.toLocaleString('en-US')} bytes are free`;
  const what = error.code === 'EDQUOT' ? 'Disk quota exceeded' : 'The disk is full';
  return new Fault(
    'disk-full',
    `${what}: unpacked ${written.toLocaleString('en-US')} bytes into ${folder}${left}`,
    { about: folder, fix: 'free disk space there; for a job, request more disk', cause: error },
  );
}

function isErrno(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error;
}
