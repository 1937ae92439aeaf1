import { closeSync, constants, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { printable, given } from '@updraft/base';
import { type Ad, formatAd, formatReal } from '@updraft/htcondor/classad';
import { describeLeftOut, formatGivenUp } from '@updraft/account/codes';
import { Fault, type FaultKind } from '@updraft/account/fault';
import type { Worker, TransferInfo, ServerRecord, RequestOutcome } from './plugin-args.ts';

/** HTCondor quotes the first failure as the hold reason: those that no retry can fix come first. */
function ranked(outcomes: readonly RequestOutcome[]): RequestOutcome[] {
  const rank = ({ result }: RequestOutcome): number =>
    result instanceof Fault ? (errorCodeOf(result).retryable ? 1 : 0) : 2;
  return outcomes.toSorted((one, other) => rank(one) - rank(other));
}

/** More ads would flood the pool's history. */
const maxObjectAds = 1000;

/** The objects of a collection, as Pelican's client reports them; of too many, only the failures or the total. */
function perObject(outcome: RequestOutcome): RequestOutcome[] {
  const { parts = [], result } = outcome;
  if (parts.length === 0) return [outcome];
  if (parts.length <= maxObjectAds) return parts;
  const failed = parts.filter((part) => part.result instanceof Fault).slice(0, maxObjectAds);
  return result instanceof Fault ? failed : [outcome];
}

/**
 * Writes one ad per outcome: in full, or, if the disk is full, shortened to fit into the file's present size.
 * Throws a Fault if not even that works.
 */
export function writeReport(
  file: OutFile,
  outcomes: readonly RequestOutcome[],
  context: ResultContext,
): void {
  const text = (ad: (outcome: RequestOutcome) => Ad): string =>
    ranked(outcomes.flatMap(perObject))
      .map((outcome) => `${formatAd(ad(outcome))}\n`)
      .join('');
  const { room } = file;
  try {
    file.write(text((outcome) => resultAd(outcome, context)));
  } catch (error) {
    const brief = [1500, 300, 60].map((maxLength) => text((outcome) => briefAd(outcome, context, maxLength)));
    const fitting = brief.find((each) => Buffer.byteLength(each) <= room);
    if (fitting === undefined) throw error;
    file.write(fitting);
  }
}

/** What every result ad contains besides its own outcome. */
export interface ResultContext {
  direction: 'download' | 'upload';
  version: string;
  worker: Worker;
}

/** Servers reported by name; a transfer that failed a hundred times has nothing new to say. */
const maxEndpointAds = 8;
const maxErrorLength = 1500;

/** The result of one request, as HTCondor's starter and the readers of its transfer history expect it. */
function resultAd(outcome: RequestOutcome, context: ResultContext): Ad {
  const { request, result, startedAt, endedAt, endpoints } = outcome;
  const seconds = (ms: number): number => Math.floor(ms / 1000);
  return {
    ...briefAd(outcome, context),
    TransferProtocol: /^(?:.*\+)?([^:+]+):/.exec(request.url)?.[1]?.toLowerCase(),
    TransferType: context.direction,
    TransferLocalMachineName: context.worker.host,
    TransferStartTime: seconds(startedAt),
    TransferEndTime: seconds(endedAt),
    ConnectionTimeSeconds: formatReal((endedAt - startedAt) / 1000),
    DeveloperData: developerData(result, endpoints, context),
    TransferErrorData: result instanceof Fault ? [errorData(result, endpoints, context)] : undefined,
  };
}

/** The minimum that HTCondor needs: for a full disk. */
function briefAd(
  { request, result, endpoints }: RequestOutcome,
  context: ResultContext,
  maxLength = maxErrorLength,
): Ad {
  const failed = result instanceof Fault;
  const bytes = failed ? 0 : result.bytes;
  return {
    TransferSuccess: !failed,
    TransferUrl: request.url,
    TransferFileName: path.basename(request.file),
    TransferFileBytes: bytes,
    TransferTotalBytes: bytes,
    TransferError: failed ? errorText(result, endpoints, context, maxLength) : undefined,
    TransferRetryable: failed ? errorCodeOf(result).retryable : undefined,
  };
}

/** HTCondor puts this sentence into the hold reason, which may be all the user sees. */
function errorText(
  fault: Fault,
  endpoints: readonly ServerRecord[],
  { version, worker }: ResultContext,
  maxLength: number,
): string {
  const where = given(
    `updraft ${version}`,
    worker.site !== undefined && `site ${worker.site}`,
    `host ${worker.host}`,
  );
  const fix = fault.fix === undefined ? '' : `; fix: ${fault.fix}`;
  const said = shortened(`${printable(fault.message)}${printable(fix)}`, maxLength);
  const givenUp = formatGivenUp(endpoints.flatMap((one) => (one.fault === undefined ? [] : [one.server])));
  return `${said}${maxLength < maxErrorLength ? '' : givenUp} (${where.join(', ')})`;
}

/** Per attempt, as Pelican's client reports, numbered from 0; a failure before the first one gets number 1. */
function developerData(
  result: RequestOutcome['result'],
  endpoints: ServerRecord[],
  { version }: ResultContext,
): Ad {
  const [fault, done] = result instanceof Fault ? [result, undefined] : [undefined, result];
  const isEarly = fault !== undefined && endpoints.length === 0;
  const data: Ad = {
    PelicanClientVersion: `updraft-${version}`,
    Attempts: isEarly ? 1 : endpoints.length,
    Verified: done?.verified,
    NotAsked: done?.leftOut?.map((one) => `${one.server} (${describeLeftOut(one)})`),
    ...checksums(done),
    ...(isEarly ? failureOf(fault, 1) : {}),
  };
  const first = Math.max(0, endpoints.length - maxEndpointAds);
  for (const [index, endpoint] of endpoints.slice(first).entries())
    Object.assign(data, attemptOf(endpoint, first + index));
  return data;
}

function attemptOf(endpoint: ServerRecord, number: number): Ad {
  const { server, preferredBy, bytes, seconds, firstByteSeconds, age, version, fault, endedAt } = endpoint;
  const time = (value: number | undefined) => (value === undefined ? undefined : formatReal(value));
  return {
    ...numbered(number, {
      Endpoint: server,
      PreferredBy: preferredBy,
      ServerVersion: version === undefined ? undefined : shortened(printable(version), 100),
      TransferFileBytes: bytes,
      TimeToFirstByte: time(firstByteSeconds),
      TransferTime: time(seconds),
      TransferEndTime: Math.floor(endedAt / 1000),
      DataAge: time(age),
      CacheHit: age === undefined ? undefined : age > 0,
    }),
    ...(fault === undefined ? {} : failureOf(fault, number)),
  };
}

const failureOf = (fault: Fault, number: number): Ad =>
  numbered(number, {
    TransferError: shortened(printable(fault.message), 300),
    IsRetryable: errorCodeOf(fault).retryable,
  });

const numbered = (number: number, ad: Ad): Ad =>
  Object.fromEntries(Object.entries(ad).map(([name, value]) => [`${name}${number}`, value]));

/** The digest computed here and the server's, which agree if the transfer succeeded. */
function checksums(done: TransferInfo | undefined): Ad {
  if (done?.digest === undefined) return {};
  const { algorithm, hex, server } = done.digest;
  const digest = { [algorithm.replaceAll('-', '')]: hex };
  return { ClientChecksums: digest, ServerChecksums: server === '' ? undefined : digest };
}

function errorData(fault: Fault, endpoints: ServerRecord[], { version }: ResultContext): Ad {
  const { code, type, retryable } = errorCodeOf(fault);
  const message = shortened(printable(fault.message), 300);
  return {
    ErrorType: type.split('.')[0],
    ErrorCode: code,
    ErrorString: message,
    Retryable: retryable ? 1 : 0,
    FailedServer: endpoints.findLast((each) => each.fault !== undefined)?.server,
    PluginVersion: version,
    DeveloperData: {
      PelicanErrorCode: code,
      ErrorType: type,
      Retryable: retryable,
      ErrorMessage: message,
      RetryAfterSeconds: fault.retryAfterSeconds,
    },
  };
}

const shortened = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;

/** The fault in the terms and numbers of Pelican's client, which sites' tools and dashboards know. */
interface ErrorCode {
  code: number;
  type: string;
  /** Whether HTCondor's policies should try the job again. */
  retryable: boolean;
}

const code = (code: number, type: string, retryable: boolean): ErrorCode => ({ code, type, retryable });
const broken = code(6000, 'Transfer', true);
const unknown = code(0, 'Unprocessed', false);

const codes: Partial<Record<FaultKind, ErrorCode>> = {
  'url-invalid': code(1000, 'Parameter', false),
  'order-invalid': code(1000, 'Parameter', false),
  'file-invalid': code(1011, 'Parameter.FileNotFound', false),
  'discovery-failed': code(2002, 'Resolution.ConnectionFailure', true),
  'servers-unreachable': code(3006, 'Contact.ConnectionSetup', true),
  'token-refused': code(4000, 'Authorization', false),
  'token-expired': code(4000, 'Authorization', true),
  'token-missing': code(4010, 'Authorization.TokenNotFound', false),
  'archive-kind': code(5000, 'Specification', false),
  'expect-wrong': code(5000, 'Specification', false),
  'archive-unsafe': code(5000, 'Specification', false),
  'scratch-unusable': code(5002, 'Specification.FileNotCreated', true),
  // Another machine may have more room.
  'disk-full': code(5002, 'Specification.FileNotCreated', true),
  // Reported only if the origin or all servers agree, so another try finds the same.
  'object-missing': code(5011, 'Specification.FileNotFound', false),
  // The only wrong command that the plugin can get: an upload over an existing object.
  usage: code(5012, 'Specification.FileAlreadyExists', false),
  'transfer-failed': broken,
  'object-changed': broken,
  'data-wrong': broken,
  'archive-damaged': broken,
  interrupted: broken,
  evicted: broken,
  'transfer-stalled': code(6001, 'Transfer.StoppedTransfer', true),
  'director-unreachable': code(6005, 'Transfer.DirectorTimeout', true),
  'data-corrupt': code(6006, 'Transfer.ChecksumMismatch', true),
};

export const errorCodeOf = (fault: Fault): ErrorCode => codes[fault.kind] ?? unknown;

/**
 * HTCondor fills this file with spaces before it calls a plugin, to reserve space for the results in case the disk
 * gets full. It is therefore written in place and never truncated; what was beyond the results becomes blank.
 */
export class OutFile {
  readonly #path: string;
  readonly #file: number;

  /** Opens at once: a plugin that cannot report should not start. */
  constructor(path: string) {
    this.#path = path;
    try {
      this.#file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  /** Bytes that are reserved already, even on a full disk. */
  get room(): number {
    return fstatSync(this.#file).size;
  }

  /** Replaces the contents of the file. */
  write(text: string): void {
    const bytes = Buffer.from(text);
    const blank = Buffer.alloc(Math.max(0, this.room - bytes.length), ' ');
    try {
      const all = Buffer.concat([bytes, blank]);
      for (let at = 0; at < all.length;) at += writeSync(this.#file, all, at, all.length - at, at);
      fsyncSync(this.#file);
    } catch (error) {
      throw unwritable(this.#path, error);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

function unwritable(path: string, error: unknown): Fault {
  return new Fault('scratch-unusable', `${path} cannot be written: ${(error as Error).message}`, {
    about: path,
    cause: error,
  });
}
