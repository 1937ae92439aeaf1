import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { dist } from '../scripts/compile.ts';

/** A process prints what it used when it exits. Its own count of memory would begin with that of who started it. */
const printUse = `import { readFileSync } from 'node:fs';
process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const [, peak] = /VmHWM:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'));
  console.error(JSON.stringify({ cpu: (userCPUTime + systemCPUTime) / 1e6, peak: (peak * 1024) / 1e6 }));
});`;

/** What a command of the built program used: seconds of CPU and megabytes. */
export function useOf(args: string[]): { cpu: number; peak: number } {
  const main = path.join(dist, 'cli', 'main.ts');
  const watched = ['--import', `data:text/javascript,${encodeURIComponent(printUse)}`, main, ...args];
  const { stderr } = spawnSync(process.execPath, watched, { encoding: 'utf8' });
  return JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as ReturnType<typeof useOf>;
}
