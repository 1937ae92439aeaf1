import { createHash } from 'node:crypto';
import { isGone } from '../../base/error-reason.ts';
import { Fault } from '../../fault/fault.ts';
import type { Attempt } from '../attempt.ts';
import { copyTree } from '../results/copy-tree.ts';

/** Brings the user's files into the work folder; tells a hash of them and of the command, which names this version of the code. */
export async function stageFiles({ order, scratch, world }: Attempt): Promise<string> {
  const { signal } = world;
  const { command, files } = order.job.train;
  const version = createHash('sha256').update(JSON.stringify(command));
  for (const name of files) {
    try {
      await copyTree(name, order.filesFrom, scratch.work, {
        signal,
        onCopied: ({ path, sha256 }) => void version.update(JSON.stringify([path, sha256])),
      });
    } catch (error) {
      if (!isGone(error)) throw error;
      throw new Fault('order-invalid', `the file ${name} is not in ${order.filesFrom}`, {
        fix: `put ${name} there, or take it out of \`files\``,
        about: name,
        cause: error,
      });
    }
  }
  return version.digest('hex');
}
