import type { FolderFact } from './facts.ts';

type Room = FolderFact['rooms'][number];

/** Reads `quota -w`: used, soft and hard limit of blocks of 1 KiB, then of files. */
export function readQuota(output: string, source: string): Room | undefined {
  const line = output.split('\n').find((one) => one.trim().split(/\s+/)[0] === source);
  const [used, soft, hard, ...rest] = (line ?? '').trim().split(/\s+/).slice(1).map(figure);
  const [fileUsed, fileSoft, fileHard] = rest.filter((one) => !Number.isNaN(one)).slice(-3);
  const left = (now = NaN, limits: (number | undefined)[] = []): number | undefined => {
    const limit = limits.find((one) => one !== undefined && one > 0);
    return limit === undefined || Number.isNaN(now) ? undefined : Math.max(0, limit - now);
  };
  const blocks = left(used, [hard, soft]);
  const files = left(fileUsed, [fileHard, fileSoft]);
  if (blocks === undefined && files === undefined) return undefined;
  return {
    name: `your quota on ${source}`,
    ...(blocks === undefined ? {} : { freeBytes: blocks * 1024 }),
    ...(files === undefined ? {} : { freeFiles: files }),
  };
}

/** An exceeded figure is marked with a star; a grace time is no figure. */
const figure = (text: string): number => (/^\d+\*?$/.test(text) ? Number.parseInt(text, 10) : NaN);
