import { closeSync, openSync, writeSync } from 'node:fs';

const pieceSize = 4 * 1024 * 1024;

interface MadeLog {
  events: number;
  bytes: number;
  jobs: number;
}

/**
 * Writes a reproducible log of about `bytes` bytes, as a pool writes it for a thousand jobs at a time. `updates` are the
 * further image sizes of each job: in real logs, jobs that run for hours have many.
 */
export function makeLog(file: string, bytes: number, updates = 0): MadeLog {
  const output = openSync(file, 'w');
  try {
    let written = 0;
    let events = 0;
    let pending: string[] = [];
    let size = 0;
    const flush = () => {
      written += writeSync(output, pending.join(''));
      pending = [];
      size = 0;
    };
    let jobs = 0;
    for (let cluster = 1000; written + size < bytes; cluster++) {
      jobs += 1000;
      for (const event of clusterEvents(cluster, 1000, updates)) {
        pending.push(event);
        size += event.length;
        events += 1;
        if (size > pieceSize) flush();
      }
    }
    flush();
    return { events, bytes: written, jobs };
  } finally {
    closeSync(output);
  }
}

const sites = ['CHTC-Spark-CE1', 'PDX-Coeus-CE1', 'GP-ARGO-ksu-backfill'];

/** The events of a cluster, its jobs interleaved: every job takes its next step in each round. */
export function* clusterEvents(cluster: number, procs: number, updates = 0): Generator<string> {
  const start = Date.UTC(2026, 0, 1) + (cluster - 1000) * 86_400_000;
  for (let round = 0; round < steps + updates; round++) {
    // The further image sizes follow the third of those that each job has.
    const step = round <= lastUpdate ? round : Math.max(lastUpdate, round - updates);
    for (let proc = 0; proc < procs; proc++) {
      const body = stepOf(step, proc);
      if (body === undefined) continue;
      const time = new Date(start + round * 600_000 + proc * 500)
        .toISOString()
        .slice(0, 19)
        .replace('T', ' ');
      const [number, text] = body;
      yield `${number} (${cluster}.${String(proc).padStart(3, '0')}.000) ${time} ${text}\n...\n`;
    }
  }
}

const steps = 12;
const lastUpdate = 6;

/** A job's event in a round: most jobs succeed, one in ten is evicted once, one in fifty is held. */
function stepOf(step: number, proc: number): [string, string] | undefined {
  const evicted = proc % 10 === 3;
  const held = proc % 50 === 7;
  if (step === 0) return ['000', `Job submitted from host: ${address('schedd_9952_d29c')}`];
  if (step === 1)
    return ['040', `Started transferring input files\n\tTransferring to host: ${address(`slot1_${proc}_4`)}`];
  if (step === 2) return ['040', 'Finished transferring input files'];
  if (held) return step === 3 ? ['012', heldText(proc)] : undefined;
  if (step === 3) return ['001', executeText(proc)];
  if (step < 7) return ['006', imageText(step, proc)];
  if (evicted && step === 7) return ['004', evictedText];
  if (step === 8) return evicted ? ['001', executeText(proc + 1)] : ['006', imageText(step, proc)];
  if (step === 9) return ['040', 'Started transferring output files'];
  if (step === 10) return ['040', 'Finished transferring output files'];
  return step === 11 ? ['005', terminatedText(proc)] : undefined;
}

function address(name: string): string {
  return `<192.0.2.17:9618?addrs=192.0.2.17-9618&alias=ap.example.org&noUDP&sock=${name}>`;
}

function executeText(proc: number): string {
  const site = sites[proc % sites.length] ?? '';
  return `Job executing on host: ${address('startd_3')}\n\tSlotName: slot1_${proc}@${site}\n\tCpus = 1\n\tDisk = 102400\n\tGLIDEIN_ResourceName = "${site}"\n\tMemory = 128`;
}

function imageText(step: number, proc: number): string {
  return `Image size of job updated: ${step * 1000 + proc}\n\t${step * 40}  -  MemoryUsage of job (MB)\n\t${step * 40_000 + proc}  -  ResidentSetSize of job (KB)`;
}

function heldText(proc: number): string {
  return `Job was held.\n\tTransfer input files failure at execution point slot1_${proc}@ep.example.org using protocol osdf. Details: 404\n\tCode 13 Subcode 256`;
}

const usage = 'Usr 0 00:12:54, Sys 0 00:00:26';
const table = `\tPartitionable Resources :    Usage  Request Allocated 
\t   Cpus                 :     0.97        1         1 
\t   Disk (KB)            :    17       102400    102400 
\t   Memory (MB)          :     7          100       128 
\t   TimeExecute (s)      :  3600                        
\t   TimeSlotBusy (s)     :  3700                        `;
const evictedText = `Job was evicted. Code 1022 Subcode 0\n\t(0) CPU times\n\t\t${usage}  -  Run Remote Usage\n\t\t${usage}  -  Run Local Usage\n\t0  -  Run Bytes Sent By Job\n\t47  -  Run Bytes Received By Job\n\tReason: Job vacated by schedd\n${table}`;

function terminatedText(proc: number): string {
  const usages = ['Run Remote', 'Run Local', 'Total Remote', 'Total Local'].map(
    (name) => `\t\t${usage}  -  ${name} Usage\n`,
  );
  const bytes = ['Run Bytes Sent', 'Run Bytes Received', 'Total Bytes Sent', 'Total Bytes Received'].map(
    (name) => `\t${1000 + proc}  -  ${name} By Job\n`,
  );
  return `Job terminated.\n\t(1) Normal termination (return value ${proc % 20 === 0 ? 1 : 0})\n${usages.join('')}${bytes.join('')}${table}`;
}
