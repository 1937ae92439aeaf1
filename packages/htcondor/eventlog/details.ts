/** What HTCondor itself moved between access point and execution point in an attempt, without what plugins fetched. */
export interface TransferredBytes {
  runSent?: number;
  runReceived?: number;
}

export type Termination = { normal: true; returnValue: number } | { normal: false; signal: number };

/** One row of the table of resources; an empty cell is a missing value. */
export interface Resource {
  /** As in `Memory`, without its unit. */
  name: string;
  /** As in `MB`, where the log gives one. */
  unit?: string;
  usage?: number;
  request?: number;
  allocated?: number;
}

export interface SubmitDetails {
  host?: string;
  batchName?: string;
  dagNode?: string;
  /** Notes the submitter left, line by line. */
  notes: string[];
}
