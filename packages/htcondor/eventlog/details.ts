/** Processor time. */
export interface Usage {
  userSeconds: number;
  systemSeconds: number;
}

export interface Usages {
  runRemote?: Usage;
  runLocal?: Usage;
  totalRemote?: Usage;
  totalLocal?: Usage;
}

/** What HTCondor itself moved between access point and execution point; URLs fetched by plugins are not in it. */
export interface TransferredBytes {
  runSent?: number;
  runReceived?: number;
  totalSent?: number;
  totalReceived?: number;
}

export type Termination =
  | { normal: true; returnValue: number }
  | {
      normal: false;
      signal: number;
      coreFile?: string;
    };

/** One row of the table of resources; an empty cell is a missing value. */
export interface Resource {
  /** As in `Memory`, without its unit. */
  name: string;
  /** As in `MB`, where the log gives one. */
  unit?: string;
  usage?: number;
  request?: number;
  allocated?: number;
  /** Which devices, as in the ids of GPUs. */
  assigned?: string;
}

export interface SubmitDetails {
  host?: string;
  batchName?: string;
  dagNode?: string;
  /** Notes the submitter left, line by line. */
  notes: string[];
  warnings?: string;
}

/** How a job ended by the execution point's account. */
export interface EndedByItself {
  /** Milliseconds since the epoch. */
  time: number;
  exitCode?: number;
  signal?: number;
}
