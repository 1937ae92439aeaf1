import { readFile } from 'node:fs/promises';
import { attributeOf, parseAds } from '@updraft/htcondor/classad';
import { Fault } from '../../fault/fault.ts';
import type { Fetched, Turn } from '@updraft/pelican/transfer';

/** One file that HTCondor asks to download or upload. */
export interface TransferRequest {
  url: string;
  /** Absolute, or relative to the job's scratch folder. */
  file: string;
}

/** What HTCondor asks for. Ads without a URL are settings of other plugins and are skipped. */
export async function readRequests(infile: string): Promise<TransferRequest[]> {
  try {
    return parseAds(await readFile(infile, 'utf8')).flatMap((ad) => {
      const [url, file] = [attributeOf(ad, 'Url'), attributeOf(ad, 'LocalFileName')];
      return typeof url === 'string' ? [{ url, file: typeof file === 'string' ? file : '' }] : [];
    });
  } catch (error) {
    throw new Fault('order-invalid', `${infile} cannot be read: ${(error as Error).message}`, {
      about: infile,
      cause: error,
    });
  }
}

/** One server's part in a transfer: what it sent, or how it failed. */
export interface ServerRecord extends Partial<Turn> {
  server: string;
  preferredBy?: string;
  fault?: Fault;
  /** Milliseconds since the epoch. */
  endedAt: number;
}

/** What a transfer did: how much, from or to which servers, and how the bytes were verified. */
export type TransferInfo = Omit<Fetched, 'seconds'>;

/** How one request ended. */
export interface RequestOutcome {
  request: TransferRequest;
  result: TransferInfo | Fault;
  /** Milliseconds since the epoch. */
  startedAt: number;
  endedAt: number;
  endpoints: ServerRecord[];
  /** Of a collection: how each of its objects ended. */
  parts?: RequestOutcome[];
}
