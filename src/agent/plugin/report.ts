import { closeSync, constants, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { printable } from '../../base/printable.ts';
import { formatReal, formatAd, type Ad } from '../../classad/ad.ts';
import { describeLeftOut } from '../../codes/describe-caches.ts';
import { formatGivenUp } from '../../codes/given-up.ts';
import { Fault } from '../../fault/fault.ts';
import type { FaultKind } from '../../fault/kinds.ts';
import type { Worker } from './plugin-env.ts';
import type { TransferInfo, ServerRecord, RequestOutcome } from './requests.ts';

/** HTCondor quotes the first failure as the reason of a hold, so what no other try can mend comes first. */
function ranked(outcomes: readonly RequestOutcome[]): RequestOutcome[] {
  const rank = ({ result }: RequestOutcome): number =>
    result instanceof Fault ? (errorCodeOf(result).retryable ? 1 : 0) : 2;
  return outcomes.toSorted((one, other) => rank(one) - rank(other));
}

/** An ad for each would fill the history of the pool. */
const maxObjectAds = 1000;

/** The objects of a collection, as Pelican's client reports them; of very many the failures and the sum of the rest. */
function perObject(outcome: RequestOutcome): RequestOutcome[] {
  const { parts = [], result } = outcome;
  if (parts.length === 0) return [outcome];
  if (parts.length <= maxObjectAds) return parts;
  const failed = parts.filter((part) => part.result instanceof Fault).slice(0, maxObjectAds);
  return result instanceof Fault ? failed : [outcome];
}

/**
 * Writes one ad per outcome: in full, or, where the disk has no room, as briefly as it takes to fit into what is
 * there. Throws a Fault if not even that works.
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

/** What every result says besides its own outcome. */
export interface ResultContext {
  direction: 'download' | 'upload';
  version: string;
  worker: Worker;
}

/** Servers told of by name; a transfer that failed a hundred times has nothing new to say. */
const maxEndpointAds = 8;
const maxErrorLength = 1500;

/** The result of one request, as HTCondor's starter and the tools that read its transfer history want it. */
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

/** As little as HTCondor has to know: for a disk that has no room for more. */
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
  const where = [
    `updraft ${version}`,
    ...(worker.site === undefined ? [] : [`site ${worker.site}`]),
    `host ${worker.host}`,
  ];
  const fix = fault.fix === undefined ? '' : `; fix: ${fault.fix}`;
  const said = shortened(`${printable(fault.message)}${printable(fix)}`, maxLength);
  const givenUp = formatGivenUp(endpoints.flatMap((one) => (one.fault === undefined ? [] : [one.server])));
  return `${said}${maxLength < maxErrorLength ? '' : givenUp} (${where.join(', ')})`;
}

/** Per attempt as Pelican's client has it, numbered from 0; a failure before the first one has the number 1. */
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

/** What was computed here and what the server said, which agree where the transfer is a success. */
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

/** What went wrong in the words and numbers of Pelican's client, which sites' tools and dashboards know. */
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
  'archive-unsafe': code(5000, 'Specification', false),
  'scratch-unusable': code(5002, 'Specification.FileNotCreated', true),
  // Another machine may have more room.
  'disk-full': code(5002, 'Specification.FileNotCreated', true),
  // Said only when the origin or every server agrees, so another try finds the same.
  'object-missing': code(5011, 'Specification.FileNotFound', false),
  // Of all commands that can be wrong, the plugin has one: to upload over something.
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
 * HTCondor fills this file with spaces before it calls a plugin, so that there is room for the results when the disk
 * is full. It is therefore written in place and never made shorter; what was there beyond the results becomes blank.
 */
export class OutFile {
  readonly #path: string;
  readonly #file: number;

  /** Opened at once: a plugin that cannot report should not begin. */
  constructor(path: string) {
    this.#path = path;
    try {
      this.#file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  /** Bytes that are there already, full disk or not. */
  get room(): number {
    return fstatSync(this.#file).size;
  }

  /** Replaces all that the file held. */
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
