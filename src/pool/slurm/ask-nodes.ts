import type { SlotFact, SlotFacts, Where } from '../../check/facts.ts';
import { Fault } from '@updraft/account/fault';
import type { Plan } from '../../job/plan.ts';
import { formatDuration, formatSize } from '@updraft/base';
import type { SlurmTools } from './slurm-tools.ts';

export interface PartitionNode {
  name: string;
  partition: string;
  isDefault: boolean;
  /** Both the partition and the node accept jobs. */
  isUp: boolean;
  isIdle: boolean;
  cpus: number;
  memoryBytes: number;
  gpus: number;
  features: string[];
  /** Time limit of the partition; Infinity if there is none. */
  seconds: number;
}

/** Compares a plan's resources with every node of the cluster, partition by partition. */
export async function askNodes(plan: Plan, where: Where, tools: SlurmTools): Promise<SlotFacts> {
  const columns = ['%N', '%P', '%a', '%t', '%c', '%m', '%G', '%f', '%l'].join('|');
  const nodes = readNodes(await tools.ask('sinfo', ['-h', '-a', '-N', '-o', columns]));
  if (nodes.length === 0)
    throw new Fault('pool-unreachable', 'sinfo lists no nodes', { fix: 'run sinfo and read its output' });
  return nodeFacts(plan, where, nodes);
}

/** Parses sinfo's output, one line per node and partition. */
export function readNodes(text: string): PartitionNode[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [name = '', partition = '', up = '', state = '', ...figures] = line.split('|');
      const [cpus = '', memory = '', gres = '', features = '', limit = ''] = figures;
      return {
        name,
        partition: partition.replace(/\*$/, ''),
        isDefault: partition.endsWith('*'),
        isUp: up === 'up' && !/down|drain|fail|inval|unk|maint|\*$/i.test(state),
        isIdle: /^idle$/i.test(state),
        cpus: Number.parseInt(cpus, 10),
        memoryBytes: Number.parseInt(memory, 10) * 2 ** 20,
        gpus: gpusOf(gres),
        features: features.split(/[,&|()[\]]/),
        seconds: secondsOf(limit),
      };
    });
}

/** The number of GPUs: 2 for `gpu:a100:2(S:0-1),tmp:5`. */
function gpusOf(gres: string): number {
  const counts = gres
    .replaceAll(/\([^)]*\)/g, '')
    .split(',')
    .filter((one) => /^gpu\b/.test(one))
    .map((one) => Number(/:(\d+)$/.exec(one)?.[1] ?? 1));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Parses `1-12:00:00`, `30:00` or `infinite`. */
function secondsOf(limit: string): number {
  const [, days = '0', clock = ''] = /^(?:(\d+)-)?([\d:]+)$/.exec(limit) ?? [];
  if (clock === '') return Infinity;
  const parts = clock.split(':').map(Number);
  const [seconds = 0, minutes = 0, hours = 0] = parts.reverse();
  return ((Number(days) * 24 + hours) * 60 + minutes) * 60 + seconds;
}

interface NodeCondition {
  words: string;
  key: [string, string];
  holds: (node: PartitionNode) => boolean;
}

/**
 * Which nodes could run a plan's jobs, condition by condition: the nodes of its partition, or all if the partition has
 * none. Pure.
 */
export function nodeFacts(plan: Plan, where: Where, all: readonly PartitionNode[]): SlotFacts {
  const partition = partitionOf(plan);
  const its = all.filter(partition.holds);
  const nodes = its.length > 0 ? its : all;
  const conditions = [...(its.length > 0 ? [] : [partition]), ...conditionsOf(plan)];
  const { nodes: asked = 1 } = plan.spec.resources;
  const fit = nodes.filter((node) => conditions.every(({ holds }) => holds(node)));
  if (asked > 1)
    conditions.push({
      words: `nodes = ${asked}`,
      key: ['resources', 'nodes'],
      holds: () => new Set(fit.map(({ name }) => name)).size >= asked,
    });
  const slots = nodes.map((node): SlotFact => ({
    name: `${node.name} in ${node.partition}`,
    meets: conditions.map(({ holds }) => holds(node)),
    fitsNow: node.isUp && node.isIdle,
  }));
  return {
    conditions: conditions.map(({ words, key }) => ({ words, place: where(...key) })),
    slots,
    largest: { memoryBytes: Math.max(0, ...nodes.map(({ memoryBytes }) => memoryBytes)), diskBytes: 0 },
  };
}

function partitionOf({ spec }: Plan): NodeCondition {
  const { partition } = spec.run;
  const named = partition?.split(',');
  return {
    words: partition === undefined ? 'the default partition' : `partition = "${partition}"`,
    key: ['run', 'partition'],
    holds: (node) => named?.includes(node.partition) ?? node.isDefault,
  };
}

function conditionsOf({ spec }: Plan): NodeCondition[] {
  const { cpus, gpus, memoryBytes, timeSeconds } = spec.resources;
  const { requirements } = spec.run;
  // Only a plain list of required features can be compared; the rest is left to sbatch.
  const features =
    requirements !== undefined && /^[\w.&-]+$/.test(requirements) ? requirements.split('&') : [];
  const conditions: NodeCondition[] = [];
  const add = (section: string, key: string, words: string, holds: NodeCondition['holds']): void =>
    void conditions.push({ words, key: [section, key], holds });
  add('run', 'pool', 'a node that is up', ({ isUp }) => isUp);
  add('resources', 'cpus', `cpus = ${cpus}`, (node) => node.cpus >= cpus);
  add(
    'resources',
    'memory',
    `memory = "${formatSize(memoryBytes)}"`,
    (node) => node.memoryBytes >= memoryBytes,
  );
  if (gpus > 0) add('resources', 'gpus', `gpus = ${gpus}`, (node) => node.gpus >= gpus);
  if (timeSeconds !== undefined) {
    const words = `time = "${formatDuration(timeSeconds)}"`;
    add('resources', 'time', words, ({ seconds }) => seconds >= timeSeconds);
  }
  for (const feature of features)
    add('run', 'requirements', `requirements = "${feature}"`, (node) => node.features.includes(feature));
  return conditions;
}
