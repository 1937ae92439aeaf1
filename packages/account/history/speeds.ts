import { defined } from '@updraft/base';
import { timeUnit, type Unit } from '@updraft/view/charts';
import { formatBytesPerSecond, formatPerSecond, formatSeconds, formatShare } from '@updraft/view/format';
import type { AgentState } from '../journal/agent-state.ts';

/** A figure of how fast an attempt trained. One row here is all that reports, tables, CSV and comparisons need. */
interface SpeedFigure {
  /** Of its column. */
  title: string;
  /** What `compare` calls it, and its heading there. */
  name: string;
  long: string;
  /** `A … B`, of the better one. */
  phrase: string;
  isLowerBetter: boolean;
  /** The largest possible value. */
  max: number;
  show: (value: number | null) => string;
  unit: (max: number) => Unit;
  /** By what the attempt's agent reported. */
  of: (agent: AgentState) => number | undefined;
}

/** The unit of a chart of plain numbers. */
export const plainUnit = (): Unit => ({ name: '', size: 1 });
export const percentUnit = (): Unit => ({ name: '%', size: 0.01 });

export const speedFigures = {
  /** How busy its GPUs were while it trained, from 0 to 1. */
  gpuUse: {
    title: 'GPU use',
    name: 'gpu-use',
    long: 'Use of the GPUs while training',
    phrase: 'uses its GPUs better than',
    isLowerBetter: false,
    max: 1,
    show: formatShare,
    unit: percentUnit,
    of: ({ gpuUse }) => gpuUse && gpuUse.percent / 100,
  },
  /** Images, or whatever a sample is. */
  samplesPerSecond: {
    title: 'samples/s',
    name: 'samples',
    long: 'Samples per second',
    phrase: 'trains faster than',
    isLowerBetter: false,
    max: Infinity,
    show: formatPerSecond,
    unit: plainUnit,
    of: ({ training }) => training?.pace?.samplesPerSecond,
  },
  epochSeconds: {
    title: 'epoch',
    name: 'epoch',
    long: 'Time of an epoch',
    phrase: 'has shorter epochs than',
    isLowerBetter: true,
    max: Infinity,
    show: formatSeconds,
    unit: timeUnit,
    of: ({ training }) => training?.pace?.epochSeconds,
  },
  copyBytesPerSecond: {
    title: 'copy to GPU',
    name: 'copy',
    long: 'Copy from host to GPU, bytes per second',
    phrase: 'copies faster to its GPUs than',
    isLowerBetter: false,
    max: Infinity,
    show: formatBytesPerSecond,
    unit: (): Unit => ({ name: 'GB/s', size: 1e9 }),
    of: ({ training, slot }) => training?.copyBytesPerSecond ?? slot?.['copyBytesPerSecond'],
  },
} satisfies Record<string, SpeedFigure>;

export type SpeedName = keyof typeof speedFigures;
export const speedNames = Object.keys(speedFigures) as SpeedName[];

/** The figures of an attempt that are known. */
export type Speeds = Partial<Record<SpeedName, number>>;

/** A value for each figure, such as its median; null if it is unknown. */
export const eachSpeed = <T>(of: (name: SpeedName) => T): Record<SpeedName, T> =>
  Object.fromEntries(speedNames.map((name) => [name, of(name)])) as Record<SpeedName, T>;

export const speedsOf = (agent: AgentState): Speeds =>
  defined(eachSpeed((name) => speedFigures[name].of(agent)));
