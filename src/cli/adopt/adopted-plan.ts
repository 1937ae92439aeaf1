import path from 'node:path';
import { argumentWords } from '../../adopt/argument-words.ts';
import type { Evidence } from '../../adopt/evidence.ts';
import { listOf } from '../../adopt/evidence.ts';
import { parseQuantity } from '../../adopt/quantity.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import { makePlan, type Plan } from '../../job/plan.ts';

/** What a submit description asks for in the words of a job file, so that its run is shown like any other. */
export function adoptedPlan(file: string, { submission }: Evidence): Plan {
  const commands = submission.queues[0]?.jobs[0]?.commands ?? {};
  const jobs = submission.queues.reduce((sum, { total }) => sum + (total ?? 0), 0);
  const bytes = (name: string, unit: 'k' | 'm'): number | undefined =>
    parseQuantity(commands[name] ?? '', unit)?.bytes;
  const retries = Number(commands['max_retries'] ?? 0);
  return makePlan({
    file,
    folder: path.dirname(file),
    files: [],
    spec: {
      name: nameOf(file),
      train: {
        command: commandOf(commands),
        files: [],
        outputs: listOf(commands['transfer_output_files']),
        env: {},
      },
      data: [],
      environment: { python: [] },
      resources: {
        cpus: countOf(commands['request_cpus'], 1),
        gpus: countOf(commands['request_gpus'], 0),
        memoryBytes: bytes('request_memory', 'm') ?? 128 * 2 ** 20,
        diskBytes: bytes('request_disk', 'k') ?? 'auto',
      },
      run: {
        jobs: Math.max(1, jobs),
        matrix: {},
        pool: 'condor',
        attempts: Number.isInteger(retries) ? retries + 1 : 1,
      },
      recovery: { avoid: 'none' },
    },
  });
}

const nameOf = (file: string): string =>
  path
    .parse(file)
    .name.replaceAll(/[^A-Za-z0-9_.]+/g, '-')
    .replace(/^[-.]+/, '') || 'adopted';

function commandOf(commands: Record<string, string>): string {
  const words = [commands['executable'] ?? '', ...argumentWords(commands['arguments'] ?? '')];
  return words.map(shellQuote).join(' ');
}

/** A number that HTCondor would compute is taken for the default: it is only shown. */
function countOf(text: string | undefined, otherwise: number): number {
  const value = Number(text ?? otherwise);
  return Number.isInteger(value) && value >= 0 ? value : otherwise;
}
