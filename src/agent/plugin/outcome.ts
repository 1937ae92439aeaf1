import type { Fault } from '../../fault/fault.ts';
import type { TransferRequest } from './requests.ts';

/** One server's part in a transfer: what it sent, or how it failed. */
export interface Endpoint {
  server: string;
  bytes?: number;
  fault?: Fault;
  /** Milliseconds since the epoch. */
  endedAt: number;
}

/** What a transfer did. */
export interface Done {
  bytes: number;
  /** How far the bytes were proven. */
  verified: string;
}

/** How one request ended. */
export interface Outcome {
  request: TransferRequest;
  result: Done | Fault;
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt: number;
  endpoints: Endpoint[];
}
