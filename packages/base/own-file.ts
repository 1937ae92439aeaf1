import fs from 'node:fs';

/** Whether only this user can have written a file. Group access is fine: many users have a private group. */
export const isPrivate = ({ uid, mode }: { uid: number; mode: number }, user: number): boolean =>
  uid === user && (mode & 0o002) === 0;

/** The user as whom this process writes files; undefined without `/proc`. */
export function fileUser(): number | undefined {
  return fs.statSync('/proc/self', { throwIfNoEntry: false })?.uid;
}
