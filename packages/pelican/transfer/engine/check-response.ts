import { Fault } from '../../fault.ts';
import { retryAfterMs } from '../../federation/back-off.ts';
import { tokenFaultKind } from '../../federation/object-request.ts';
import { folderFault, type OriginFacts } from '../../federation/stat-object.ts';
import type { ResponseHead } from '../../http/response.ts';

/** What is known about the object so far; every later answer must agree with it. */
export interface Identity {
  size: number | undefined;
  /** A strong ETag, as the first server gave it. */
  etag: string | undefined;
  /** A weak one: equal ones prove nothing, but different ones of one server are two versions. */
  weak?: string | undefined;
  /** Last modification, in milliseconds since the epoch: from the first server, or from the origin. */
  modified: number | undefined;
  /** That first server, `host:port`. */
  server?: string | undefined;
}

const hasValidator = ({ etag, modified }: Identity): boolean => etag !== undefined || modified !== undefined;

/** Without these, no later attempt could resume from what this one fetches. */
export const lacksIdentity = (known: Identity): boolean => known.size === undefined || !hasValidator(known);

/** Fills in from the origin what the servers leave open. */
export function completed(known: Identity, { size, modified }: OriginFacts): Identity {
  if (size === undefined || (known.size ?? size) !== size) return known;
  return { ...known, size, modified: known.modified ?? modified };
}

const differ = <T>(one: T | undefined, other: T | undefined): boolean =>
  one !== undefined && other !== undefined && one !== other;

/** Whether the origin itself gives another size. */
export const contradicts = ({ size, kind }: OriginFacts, known: Identity): boolean =>
  kind !== 'cache' && differ(size, known.size);

/** Whether the origin has another version. Its ETag does not count: Pelican's origins have another one for GET. */
export const isOlder = (known: Identity, origin?: OriginFacts): boolean =>
  origin !== undefined && (contradicts(origin, known) || differ(origin.modified, known.modified));

export interface Expectation {
  /** The object's URL without secrets. */
  url: string;
  /** `host:port`, for messages. */
  host: string;
  /** A server of a federation, as opposed to one that only its URL names. */
  isFederated: boolean;
  /** Last part of the object's path. */
  name: string;
  offset: number;
  tokenSent: boolean;
  /** The fix if the token is refused. */
  tokenFix: string | undefined;
  /** If the server ignores Range, its answer may be read from the first byte and what we have skipped. */
  maySkip: boolean;
  /** The text of the server's refusal. */
  errorText: string;
  /** Milliseconds since the epoch. */
  now: number;
  /** What the origin says about the object, if it was asked and answered. */
  origin?: OriginFacts | undefined;
  /** Its digest of the whole object is the expected one. */
  hasSameDigest?: boolean;
  /** The request had a Range. */
  isPart?: boolean;
  /** Bytes of other answers are here, and only what the servers say can show that they are of the same version. */
  joins?: boolean;
  /** What this server said with the bytes that it sent before. */
  before?: Version | undefined;
}

/** An answer whose body may be used. */
export interface Accepted extends Identity {
  /** Offset of the body's first byte in the object. */
  from: number;
  /** One past the last byte of the body, if the head says so. */
  to: number | undefined;
  /** Seconds the object has been in the cache, if the head says so; 0 means that it is being fetched now. */
  age: number | undefined;
}

/** Checks an answer before its first byte is used: throws a Setback, or returns which bytes the body holds. */
export function checkResponse(head: ResponseHead, asked: Expectation, known: Identity): Accepted {
  if (asked.isPart === true && isRangeRefusal(head))
    throw noRanges(asked, `answers a Range with ${head.status}`);
  if (head.status === 416) return checkEmpty(head, asked, known);
  if (isRefusal(head)) throw refusal(head, asked);
  const accepted = head.status === 206 ? partialObject(head, asked) : wholeObject(head);
  checkContent(head, asked, accepted);
  checkIdentity(accepted, asked, known);
  if (head.status === 200 && asked.offset > 0 && !asked.maySkip)
    throw noRanges(asked, 'sends the whole object instead of a part');
  // What was known before stays.
  const { size = accepted.size, etag = accepted.etag, modified = accepted.modified, server } = known;
  const { weak } = server === undefined ? accepted : known;
  return { ...accepted, size, etag, weak, modified, server: server ?? asked.host };
}

/**
 * Whether only the origin can say what this answer means: a folder (XRootD lists it with 200 and no type), an empty
 * object, an object that is an HTML page, or another version.
 */
export function needsOrigin(head: ResponseHead, asked: Expectation, known: Identity): boolean {
  const { status, headers } = head;
  if (isFolderStatus(status) || status === 416) return true;
  if (isRefusal(head) || encodingOf(head) !== undefined) return false;
  const said = versionOf(head);
  if (isPage(headers, asked) || (status === 200 && !hasValidator(said) && !headers.has('content-type')))
    return true;
  if (known.size !== undefined && (said.size ?? known.size) !== known.size) return true;
  return hasValidator(known) ? isSame(said, known) === undefined : asked.joins === true;
}

/** Whether only equal digests can show that the answer is of the same version. */
export const needsDigest = (head: ResponseHead, { host, joins }: Expectation, known: Identity): boolean =>
  !isRefusal(head) &&
  (hasValidator(known) ? known.server !== host && isSame(versionOf(head), known) === false : joins === true);

/** What an answer says about the object. */
export function versionOf({ status, headers }: ResponseHead): Identity {
  const length = headers.has('transfer-encoding') ? undefined : headers.get('content-length');
  const total = status === 200 ? length : headers.get('content-range')?.split('/')[1];
  const tag = headers.get('etag');
  const modified = Date.parse(headers.get('last-modified') ?? '');
  return {
    size: /^\d{1,16}$/.test(total ?? '') ? Number(total) : undefined,
    etag: tag?.startsWith('"') === true ? tag : undefined,
    weak: tag?.startsWith('W/') === true ? tag : undefined,
    modified: Number.isNaN(modified) ? undefined : modified,
  };
}

/** How servers answer a GET of a folder: Pelican's and XRootD's. */
const isFolderStatus = (status: number): boolean => status === 405 || status === 409;

/** An answer whose body is an error text, not the object. */
export const isRefusal = ({ status }: ResponseHead): boolean =>
  status !== 200 && status !== 206 && status !== 416;

function partialObject(head: ResponseHead, asked: Expectation): Accepted {
  const range = head.headers.get('content-range') ?? '';
  // How XRootD says that an object is empty.
  if (range === 'bytes 0--1/0') return { from: 0, to: 0, ...identityOf(head), size: 0 };
  const match = /^bytes (\d{1,16})-(\d{1,16})\/(\d{1,16}|\*)$/.exec(range);
  if (match === null)
    throw wrong(asked, `answers 206 with Content-Range ${JSON.stringify(range.slice(0, 60))}`);
  const from = Number(match[1]);
  if (from !== asked.offset) throw wrong(asked, `was asked for byte ${asked.offset} and sends byte ${from}`);
  return { from, to: Number(match[2]) + 1, ...identityOf(head) };
}

function wholeObject(head: ResponseHead): Accepted {
  const said = identityOf(head);
  return { from: 0, to: said.size, ...said };
}

function identityOf(head: ResponseHead): Identity & { age: number | undefined } {
  const age = Number(head.headers.get('age') ?? Number.NaN);
  return { ...versionOf(head), age: Number.isFinite(age) ? age : undefined };
}

/** Many servers answer 416 to a request for the first byte of an empty object. */
function checkEmpty(head: ResponseHead, asked: Expectation, known: Identity): Accepted {
  const total = /^bytes \*\/(\d{1,16})$/.exec(head.headers.get('content-range') ?? '')?.[1];
  if (
    asked.offset === 0 &&
    (total === '0' || (total === undefined && (asked.origin?.size ?? known.size) === 0))
  ) {
    const accepted = { from: 0, to: 0, ...identityOf(head), size: 0 };
    checkIdentity(accepted, asked, known);
    return accepted;
  }
  const has = total === undefined ? 'has no such range' : `has only ${total} bytes`;
  throw otherSize(asked, known, `was asked for byte ${asked.offset} and ${has}`);
}

/** If the origin agrees with what we have, only this server is wrong. */
function otherSize(asked: Expectation, { size }: Identity, what: string): Setback {
  const { origin, host } = asked;
  const isAlone = origin?.size === size && origin?.kind === 'origin' && origin.server !== host;
  return isAlone ? wrong(asked, what) : changed(asked, what);
}

const changed = (asked: Expectation, what: string): Setback =>
  setback('changed', 'object-changed', asked, what);

const noRanges = (asked: Expectation, what: string): Setback =>
  setback('no-ranges', 'transfer-failed', asked, what);

/** How servers refuse a Range that they do not understand; a good 416 says how long the object is. */
const isRangeRefusal = ({ status, headers }: ResponseHead): boolean =>
  status === 501 || status === 400 || (status === 416 && !/\/\d/.test(headers.get('content-range') ?? ''));

export function encodingOf({ headers }: ResponseHead): string | undefined {
  const encoding = headers.get('content-encoding');
  return encoding === 'identity' ? undefined : encoding;
}

function checkContent(head: ResponseHead, asked: Expectation, { size }: Accepted): void {
  const { headers } = head;
  const { origin, name } = asked;
  const encoding = encodingOf(head);
  if (encoding !== undefined)
    throw wrong(asked, `sends ${name} encoded as ${JSON.stringify(encoding.slice(0, 40))}`);
  if (origin?.isCollection === true) throw folderFault(asked.url);
  // Pelican's servers guess the type from the first bytes: an object may be HTML if it has the expected size.
  const isKnown = origin?.size !== undefined && (size ?? origin.size) === origin.size;
  if (isPage(headers, asked) && !isKnown) throw wrong(asked, `sends an HTML page instead of ${name}`);
}

function isPage(headers: ResponseHead['headers'], { name }: Expectation): boolean {
  const type = headers.get('content-type')?.toLowerCase() ?? '';
  return type.startsWith('text/html') && !/\.x?html?$/i.test(name);
}

function checkIdentity(accepted: Accepted, asked: Expectation, known: Identity): void {
  if (known.size !== undefined && accepted.size !== undefined && accepted.size !== known.size)
    throw otherSize(asked, known, `has ${accepted.size} bytes, expected ${known.size}`);
  const [tag, before] = [accepted, asked.before].map(tagOf);
  if (differ(tag, before)) throw changed(asked, `has another version now (ETag ${tag}, before: ${before})`);
  if (asked.hasSameDigest === true) return;
  if (!hasValidator(known)) {
    if (asked.joins !== true) return;
    throw changed(asked, 'gives no ETag, time or digest to show that it still has the same version');
  }
  const same = isSame(accepted, known);
  if (same === true || (same === undefined && isSameAtOrigin(asked, known))) return;
  throw changed(
    asked,
    `has another version, or does not show that it is the same (${describeVersion(accepted)}; ${
      known.server ?? 'its origin'
    }: ${describeVersion(known)})`,
  );
}

type Version = Partial<Pick<Identity, 'etag' | 'weak' | 'modified'>>;

const tagOf = (said?: Version): string | undefined => (said?.etag ?? said?.weak)?.replace(/^W\//, '');

/**
 * Whether bytes of two answers to GET are of one version; undefined if they do not say. Equal modification times never
 * outweigh different ETags: they count whole seconds.
 */
function isSame(answer: Version, known: Version): boolean | undefined {
  if (answer.etag !== undefined && known.etag !== undefined) return answer.etag === known.etag;
  if (answer.modified === undefined || known.modified === undefined) return undefined;
  return answer.modified === known.modified;
}

export const describeVersion = ({ etag, modified }: Version): string =>
  etag !== undefined
    ? `ETag ${etag}`
    : modified === undefined
      ? 'no ETag, no time'
      : `modified ${new Date(modified).toISOString()}`;

/** The server does not say, as XRootD never does: then the origin decides, which is asked again after each failure. */
const isSameAtOrigin = ({ origin }: Expectation, known: Identity): boolean =>
  known.modified !== undefined && known.modified === origin?.modified && known.size === origin.size;

function refusal(head: ResponseHead, asked: Expectation): Setback | Fault {
  const { status } = head;
  if (isFolderStatus(status) && (asked.origin?.isCollection ?? asked.isFederated))
    return folderFault(asked.url);
  const reason = head.reason === '' ? '' : ` ${head.reason.slice(0, 80)}`;
  const bare = `answers ${status}${reason}`;
  // The text of a 404 adds nothing.
  if (status === 404 || status === 410) return setback('missing', 'object-missing', asked, bare);
  const said = asked.errorText === '' ? bare : `${bare} (${asked.errorText})`;
  const needs = status === 401 && !asked.tokenSent ? `${said}: it asks for a token` : said;
  const kind = asked.tokenSent
    ? tokenFaultKind(head.headers.get('www-authenticate'), asked.errorText)
    : 'token-missing';
  if (status === 401 || status === 403)
    return setback('refused', kind, asked, needs, {
      fix: asked.tokenFix ?? 'get a token that lets you read this path',
    });
  if (status === 504)
    return setback('filling', 'transfer-stalled', asked, `${said}: still waiting for the origin`);
  if (status === 429 || status === 503)
    return setback('busy', 'servers-unreachable', asked, said, retryAfter(head, asked));
  if (status >= 500) return setback('broken', 'transfer-failed', asked, said);
  return setback('wrong', 'data-wrong', asked, said);
}

function retryAfter({ headers }: ResponseHead, { now }: Expectation): { retryAfterSeconds?: number } {
  const ms = retryAfterMs(headers.get('retry-after'), now);
  return ms === undefined ? {} : { retryAfterSeconds: Math.ceil(ms / 1000) };
}

const wrong = (asked: Expectation, what: string): Setback => setback('wrong', 'data-wrong', asked, what);

function setback(
  trouble: Setback['kind'],
  kind: Fault['kind'],
  asked: Expectation,
  what: string,
  more: { fix?: string; retryAfterSeconds?: number } = {},
): Setback {
  return new Setback(trouble, new Fault(kind, `${asked.host} ${what}`, { about: asked.name, ...more }));
}

/**
 * What a failed try says about the server:
 * - `missing`: it does not have the object; `refused`: it wants another token
 * - `expired`: nothing, it was not asked: our token has expired
 * - `cold`: it was asked for its copy of the object and has none yet, which is not a failure
 * - `busy`: it asks us to come back later; `filling`: it is fetching the object itself, stay with it
 * - `changed`: it has another version; `wrong`: it sends something else; `corrupt`: its bytes are damaged
 * - `withdrawn`: it sent all bytes, then reported that they are bad
 * - `no-ranges`: it can only send the whole object; `broken`: anything else
 */
export type SetbackKind =
  | 'missing'
  | 'refused'
  | 'expired'
  | 'cold'
  | 'busy'
  | 'filling'
  | 'changed'
  | 'wrong'
  | 'corrupt'
  | 'withdrawn'
  | 'no-ranges'
  | 'broken';

/** One failed try at one server; the transfer continues elsewhere. */
export class Setback extends Error {
  readonly kind: SetbackKind;
  readonly fault: Fault;

  constructor(kind: SetbackKind, fault: Fault) {
    super(fault.message, { cause: fault });
    this.kind = kind;
    this.fault = fault;
  }
}
