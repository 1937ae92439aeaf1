import { readdir, readFile } from 'node:fs/promises';

/** The process id of HTCondor's starter above the job whose command line contains this word. */
export async function starterOf(word: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const words = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!words.includes(word)) continue;
    const starter = await ancestorOf(Number(pid));
    if (starter !== undefined) return starter;
  }
  throw new Error(`no starter has a job that runs ${word}`);
}

async function ancestorOf(from: number): Promise<number | undefined> {
  for (let pid = from; pid > 1;) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    if (/^Name:\tcondor_starter$/m.test(status)) return pid;
    pid = Number(/^PPid:\t(\d+)$/m.exec(status)?.[1] ?? 0);
  }
  return undefined;
}
