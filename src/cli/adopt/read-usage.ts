import path from 'node:path';
import type { PastUsage } from '../../adopt/submit-facts.ts';
import { scanEventLog } from '../../eventlog/read-event-log.ts';

/** The most memory and disk that a job of an event log used. */
export async function readUsage(file: string, signal: AbortSignal): Promise<PastUsage> {
  let [memory, disk] = [0, 0];
  await scanEventLog(
    file,
    (event) => {
      if (event.kind === 'image-size') memory = Math.max(memory, event.details.memoryUsageMb ?? 0);
      if (event.kind !== 'terminated' && event.kind !== 'evicted') return;
      for (const { name, usage = 0 } of event.details.resources) {
        if (/^memory$/i.test(name)) memory = Math.max(memory, usage);
        if (/^disk$/i.test(name)) disk = Math.max(disk, usage);
      }
    },
    { signal },
  );
  return {
    log: path.basename(file),
    ...(memory === 0 ? {} : { memoryMegabytes: memory }),
    ...(disk === 0 ? {} : { diskKilobytes: disk }),
  };
}
