import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { detectMachine } from '../../src/pool/local/machine.ts';
import { scratchFolder } from '../scratch.ts';
import { makeDataset, type Dataset, type DatasetName } from './datasets.ts';
import { serve } from './federation.ts';
import { showFigures, type Measured } from './figures.ts';
import { trainInMemory } from './in-memory.ts';
import { planOf, trainWithAgent, type Seen } from './with-agent.ts';
import { workloads } from './workloads.ts';

const { values } = parseArgs({
  options: {
    agent: { type: 'string', default: 'dist/updraft-agent-linux-x64' },
    only: { type: 'string', multiple: true, default: workloads.map(({ name }) => name) },
    tiny: { type: 'boolean', default: false },
    caches: { type: 'string', default: '2' },
    rate: { type: 'string', default: '100MB/s' },
    out: { type: 'string', default: 'gpu-figures' },
  },
});

const began = performance.now();
const say = (line: string): void =>
  console.error(`${((performance.now() - began) / 1000).toFixed(0)} s: ${line}`);
const [memory, disk] = [scratchFolder('memory'), scratchFolder('disk')];
mkdirSync(values.out, { recursive: true });

const chosen = workloads.filter(({ name }) => values.only.includes(name));
const names = [...new Set(chosen.flatMap(({ dataset }) => dataset ?? []))];
const datasets = new Map<DatasetName, Dataset>(
  await Promise.all(names.map(async (name) => [name, await makeDataset(name, memory, values.tiny)] as const)),
);
say(`${names.join(', ')} made`);
const { gpus } = await detectMachine(process.env);
await using federation = await serve([...datasets.values()], {
  folder: path.join(memory, 'federation'),
  caches: values.caches,
  rate: values.rate,
});
const env = { ...process.env, ...federation.env, CUDA_VISIBLE_DEVICES: gpus[0] ?? '' };

// Otherwise the first training would pay for reading PyTorch, and its optimizers, from disk.
const ones = 'torch.ones(1, device="cuda" if torch.cuda.is_available() else "cpu")';
spawnSync('python3', ['-c', `import torch, numpy; torch.optim.SGD([${ones}], lr=1)`]);

const measured: Measured[] = [];
for (const workload of chosen) {
  const dataset = workload.dataset && datasets.get(workload.dataset);
  const plan = await planOf(workload, dataset?.sent ?? [], { folder: memory, isTiny: values.tiny });
  const inMemory: Seen[] = [];
  const trainHere = async (): Promise<void> => {
    inMemory.push(await trainInMemory(workload, plan, dataset, { folder: memory, env }));
    say(`${workload.name}: trained in memory, exit ${inMemory.at(-1)?.exit ?? 'none'}`);
  };
  if (dataset !== undefined) await federation.warm(dataset);
  if (workload.inMemory !== 0) await trainHere();
  const agent = await trainWithAgent(workload, plan, path.resolve(values.agent), { folder: disk, env });
  // The file system may take a while to free what was removed; that must not slow down the next training.
  spawnSync('sync');
  say(`${workload.name}: trained with the agent, exit ${agent.exit}, results ${agent.results.join(' ')}`);
  if (workload.inMemory === 2) await trainHere();
  measured.push({ name: workload.name, agent, inMemory });
  writeFileSync(path.join(values.out, 'seen.json'), JSON.stringify(measured));
  writeFileSync(path.join(values.out, 'figures.md'), showFigures(measured));
}
console.log(showFigures(measured));
process.exitCode = measured.every(({ agent }) => agent.exit === 0 && agent.left.length === 0) ? 0 : 1;
