import { readFile } from 'node:fs/promises';

/** CPU seconds, user and system, that a process (with its threads, without its children) had used at a moment. */
export interface CpuSample {
  at: number;
  seconds: number;
}

const sampleEveryMs = 200;
/** Clock ticks per second in `/proc`, the same on every Linux. */
const ticksPerSecond = 100;

/** Samples a process until it ends. */
export async function meterCpu(pid: number): Promise<CpuSample[]> {
  const samples: CpuSample[] = [];
  for (;;) {
    const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
    const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
    if (fields === undefined || fields[0] === 'Z') return samples;
    const ticks = Number(fields[11]) + Number(fields[12]);
    samples.push({ at: Date.now(), seconds: ticks / ticksPerSecond });
    await new Promise((resolve) => setTimeout(resolve, sampleEveryMs));
  }
}

/** CPU seconds used at a moment, interpolated between samples. */
export function cpuBy(samples: CpuSample[], at: number): number {
  const before = samples.findLast((sample) => sample.at <= at);
  const after = samples.find((sample) => sample.at > at);
  if (before === undefined || after === undefined) return before?.seconds ?? 0;
  const share = (at - before.at) / (after.at - before.at);
  return before.seconds + share * (after.seconds - before.seconds);
}
