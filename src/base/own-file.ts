import fs from 'node:fs';

interface Owned {
  uid: number;
  mode: number;
}

/** Whether nobody but this user can have written a file. Groups may: many systems give each user one of their own. */
export const isPrivate = ({ uid, mode }: Owned, user: number): boolean =>
  uid === user && (mode & 0o002) === 0;

/** The user as whom this process writes files; undefined where the system has no `/proc`. */
export function fileUser(): number | undefined {
  return fs.statSync('/proc/self', { throwIfNoEntry: false })?.uid;
}
