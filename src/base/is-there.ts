import { stat } from 'node:fs/promises';

/** Whether there is anything under this path. */
export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
