import { readFileSync } from 'node:fs';
import path from 'node:path';

/** One of METL's attempts at an epoch on the OSPool, of those whose site and GPU are known. */
export interface MetlAttempt {
  site: string;
  gpu: string;
  /** `completed`, `failed`, `evicted`, `aborted` by its owner, … */
  status: string;
  /** On its slot, the transfer of its input included. */
  seconds: number;
  /** The model that it is of. */
  run: string;
  epoch: string;
  /** Since the first submission of all. */
  submitted: number;
  ended: number;
}

/** Those that took time on a slot. */
export function metlAttempts(): MetlAttempt[] {
  const file = path.join(import.meta.dirname, '../../data/metl-attempts.tsv');
  const [head = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  const names = head.split('\t');
  const cellsOf = (line: string): Partial<Record<string, string>> =>
    Object.fromEntries(line.split('\t').map((value, at) => [names[at] ?? '', value]));
  return lines
    .map(cellsOf)
    .filter(({ target, site, gpu }) => target === 'ospool' && site !== '' && gpu !== '')
    .map(({ site = '', gpu = '', status = '', epoch = '', campaign, run, ...times }) => ({
      ...{ site, gpu, status, epoch, run: `${campaign} ${run}` },
      ...{ submitted: Number(times['submit_s']), ended: Number(times['end_s']) },
      seconds: Number(times['execution_s']) + Number(times['input_transfer_s']),
    }))
    .filter(({ seconds }) => seconds > 0);
}
