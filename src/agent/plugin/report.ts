import path from 'node:path';
import { printable } from '../../base/printable.ts';
import { real, showAd, type Ad } from '../../classad/ad.ts';
import { Fault } from '../../fault/fault.ts';
import { errorCodeOf } from './error-codes.ts';
import type { OutFile } from './out-file.ts';
import type { Endpoint, Outcome } from './requests.ts';
import type { Place } from './plugin-env.ts';

/** HTCondor quotes the first failure as the reason of a hold, so what no other try can mend comes first. */
function ranked(outcomes: readonly Outcome[]): Outcome[] {
  const rank = ({ result }: Outcome): number =>
    result instanceof Fault ? (errorCodeOf(result).retryable ? 1 : 0) : 2;
  return outcomes.toSorted((one, other) => rank(one) - rank(other));
}

/**
 * Writes one ad per outcome: in full, or, where the disk has no room, as briefly as it takes to fit into what is
 * there. Throws a Fault if not even that works.
 */
export function writeReport(file: OutFile, outcomes: readonly Outcome[], context: ResultContext): void {
  const text = (ad: (outcome: Outcome) => Ad): string =>
    ranked(outcomes)
      .map((outcome) => `${showAd(ad(outcome))}\n`)
      .join('');
  const { room } = file;
  try {
    file.write(text((outcome) => resultAd(outcome, context)));
  } catch (error) {
    const brief = [1500, 300, 60].map((longest) => text((outcome) => briefAd(outcome, context, longest)));
    const fitting = brief.find((each) => Buffer.byteLength(each) <= room);
    if (fitting === undefined) throw error;
    file.write(fitting);
  }
}

/** What every result says besides its own outcome. */
export interface ResultContext {
  direction: 'download' | 'upload';
  version: string;
  place: Place;
}

/** Servers told of by name; a transfer that failed a hundred times has nothing new to say. */
const endpointsTold = 8;
const longestError = 1500;

/** The result of one request, as HTCondor's starter and the tools that read its transfer history want it. */
function resultAd(outcome: Outcome, context: ResultContext): Ad {
  const { request, result, startedAt, endedAt, endpoints } = outcome;
  const seconds = (ms: number): number => Math.floor(ms / 1000);
  return {
    ...briefAd(outcome, context),
    TransferProtocol: /^(?:.*\+)?([^:+]+):/.exec(request.url)?.[1]?.toLowerCase(),
    TransferType: context.direction,
    TransferLocalMachineName: context.place.host,
    TransferStartTime: seconds(startedAt),
    TransferEndTime: seconds(endedAt),
    ConnectionTimeSeconds: real((endedAt - startedAt) / 1000),
    DeveloperData: developerData(result, endpoints, context),
    TransferErrorData: result instanceof Fault ? [errorData(result, endpoints, context)] : undefined,
  };
}

/** As little as HTCondor has to know: for a disk that has no room for more. */
function briefAd({ request, result }: Outcome, context: ResultContext, longest = longestError): Ad {
  const failed = result instanceof Fault;
  const bytes = failed ? 0 : result.bytes;
  return {
    TransferSuccess: !failed,
    TransferUrl: request.url,
    TransferFileName: path.basename(request.file),
    TransferFileBytes: bytes,
    TransferTotalBytes: bytes,
    TransferError: failed ? errorText(result, context, longest) : undefined,
    TransferRetryable: failed ? errorCodeOf(result).retryable : undefined,
  };
}

/** HTCondor puts this sentence into the hold reason, which may be all the user sees. */
function errorText(fault: Fault, { version, place }: ResultContext, longest: number): string {
  const where = [
    `updraft ${version}`,
    ...(place.site === undefined ? [] : [`site ${place.site}`]),
    `host ${place.host}`,
  ];
  const fix = fault.fix === undefined ? '' : `; fix: ${fault.fix}`;
  return `${shortened(`${printable(fault.message)}${printable(fix)}`, longest)} (${where.join(', ')})`;
}

function developerData(result: Outcome['result'], endpoints: Endpoint[], { version }: ResultContext): Ad {
  const verified = result instanceof Fault ? undefined : result.verified;
  const data: Ad = {
    PelicanClientVersion: `updraft-${version}`,
    Attempts: endpoints.length,
    Verified: verified,
  };
  for (const [index, { server, bytes, fault, endedAt }] of endpoints.slice(-endpointsTold).entries()) {
    const own = {
      Endpoint: server,
      TransferEndTime: Math.floor(endedAt / 1000),
      TransferFileBytes: bytes,
      TransferError: fault === undefined ? undefined : shortened(printable(fault.message), 300),
      IsRetryable: fault === undefined ? undefined : errorCodeOf(fault).retryable,
    };
    for (const [name, value] of Object.entries(own)) data[`${name}${index}`] = value;
  }
  return data;
}

function errorData(fault: Fault, endpoints: Endpoint[], { version }: ResultContext): Ad {
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

const shortened = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
