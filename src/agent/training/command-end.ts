/** Free space on the disk of a folder, in bytes. */
export interface DiskSpace {
  folder: string;
  freeBytes: number;
  /** The least that was seen while the training ran. */
  lowestBytes?: number;
  /** Nothing can be written there, although there are free bytes: a quota, or the number of files. */
  isRefused?: boolean;
  /** All attempts share it: the run's folder, or the user's own home. Another attempt would find it full, too. */
  isShared?: true;
  /** It is the user's home, where a training need not write. */
  isHome?: true;
}

/** What the kernel and the processes report about a training's memory, in bytes. */
export interface MemoryReadings {
  /** The maximum resident size of its processes; shared pages count for each. */
  peakBytes: number;
  /** Of the whole machine, when the training was last seen alive. */
  availableBytes?: number;
  totalBytes: number;
  /** The smallest limit of its cgroup and those above it. */
  limitBytes?: number;
  /** Processes of its cgroup that the kernel killed for memory while it ran. */
  cgroupKills: number;
  /** The same for the whole machine, in the last few seconds only: other jobs get killed there, too. */
  machineKills: number;
  /** The kernel's own line on a kill of one of its processes, or for lack of memory on the whole machine. */
  kernelSaid?: string;
}

/** The readings at the moment of a training's death. */
export interface ExitReadings {
  memory: MemoryReadings;
  /** Of the scratch folder, the logs, a full home, and the memory that processes share as files. */
  disks: DiskSpace[];
}

/** How a command ended: by its exit code, or by a signal. */
export interface CommandEnd {
  status: number | null;
  signal?: NodeJS.Signals;
  /** Of several processes, the one that failed first. */
  rank?: number;
  /** Taken when it ended, unless it succeeded. */
  readings?: ExitReadings;
}

/** What a process of several finds in its environment. */
export type RankEnv = Record<string, string>;

/** Appends a line to one of the training's logs. */
export type Log = (name: 'out' | 'err', line: string) => void;

/** A process of a training. */
export interface StartedRank {
  rank: number;
  exit: Promise<CommandEnd>;
  /** All that it printed is in the logs. */
  drained: Promise<unknown>;
  /** Sends a signal to its group. */
  kill: (name: NodeJS.Signals) => void;
  /** On this node. */
  pid?: number;
}
