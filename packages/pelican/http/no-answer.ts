import { type Clock, printable } from '@updraft/base';
import { messageWithoutSecrets } from '@updraft/base/secrets';
import { ConnectionLost, type HttpConnection } from './http-connection.ts';
import { ProtocolError, type ResponseHead } from './response.ts';

export type NoAnswerReason =
  | 'timeout'
  | 'refused'
  | 'reset'
  | 'name'
  | 'certificate'
  | 'garbage'
  | 'network'
  /** It redirects from https to plain http. */
  | 'downgrade'
  /** It redirects too often. */
  | 'redirects';

/** A server gave no usable answer: no status could be read, or it redirected where we do not follow. */
export class NoAnswer extends Error {
  readonly reason: NoAnswerReason;
  /** `host:port` that was asked. */
  readonly host: string;
  /** Whether the server accepted the connection. */
  readonly isConnected: boolean;

  constructor(
    reason: NoAnswerReason,
    host: string,
    what: string,
    { cause, isConnected = true }: { cause?: unknown; isConnected?: boolean } = {},
  ) {
    super(`${host} ${what}`, cause === undefined ? undefined : { cause });
    this.name = 'NoAnswer';
    this.reason = reason;
    this.host = host;
    this.isConnected = isConnected;
  }

  /** Whether a retry can help: unknown names, untrusted certificates and refused redirects will not change. */
  get mayPass(): boolean {
    return !['name', 'certificate', 'downgrade', 'redirects'].includes(this.reason);
  }
}

/** The reason and the message for an error of the socket or the parser. */
export function noAnswer(host: string, error: unknown, { isConnected = true } = {}): NoAnswer {
  if (error instanceof NoAnswer && error.isConnected === isConnected) return error;
  if (error instanceof NoAnswer)
    return new NoAnswer(error.reason, host, error.message.slice(host.length + 1), {
      cause: error,
      isConnected,
    });
  const [reason, what] = meaning(error as Error);
  return new NoAnswer(reason, host, what, { cause: error, isConnected });
}

function meaning(error: Error): [NoAnswerReason, string] {
  if (error instanceof ProtocolError) return ['garbage', `does not speak HTTP: ${error.message}`];
  if (error instanceof ConnectionLost && error.cause === undefined) return ['reset', 'broke the connection'];
  const { code = '', message } = (
    error instanceof ConnectionLost ? error.cause : error
  ) as NodeJS.ErrnoException;
  switch (code) {
    case 'ECONNREFUSED':
      return ['refused', 'refuses connections'];
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ECONNABORTED':
      return ['reset', 'broke the connection'];
    case 'ETIMEDOUT':
      return ['timeout', 'does not answer in time'];
    case 'ENOTFOUND':
      return ['name', 'is not a known host name'];
    case 'EAI_AGAIN':
      return ['network', 'cannot be looked up: DNS does not answer'];
    default:
      break;
  }
  if (/CERT|SIGNATURE|ISSUER|CHAIN|UNABLE_TO_|SELF_SIGNED|ALTNAME/.test(code))
    return ['certificate', `has a certificate that is not trusted: ${message.split(';', 1)[0] ?? ''}`];
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return ['garbage', `does not speak HTTP: ${message}`];
  return ['network', `cannot be reached: ${message}`];
}

const maxBytes = 2048;
const maxChars = 160;
const timeoutMs = 1_000;

/** The text in the body of a refusal; empty if there is none or it is an HTML page. Consumes the answer. */
export async function readErrorText(
  connection: HttpConnection,
  { headers }: ResponseHead,
  clock: Clock,
): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  const isOver = new AbortController();
  const body = connection.body((data) => {
    parts.push(Buffer.from(data));
    bytes += data.length;
    if (bytes >= maxBytes) connection.destroy();
  });
  await Promise.race([body, clock.sleep(timeoutMs, isOver.signal)]).catch(() => undefined);
  isOver.abort();
  if (headers.get('content-type')?.startsWith('text/html') === true) return '';
  return errorText(connection.redact(Buffer.concat(parts).toString('utf8', 0, maxBytes)));
}

/** The message in the body of a refusal, plain text or JSON; shortened and made printable. */
export function errorText(body: string): string {
  const messages = ['error', 'msg', 'message', 'detail'].flatMap((name) => jsonText(body, name) ?? []);
  const text = printable(messageWithoutSecrets(messages.length === 0 ? body : messages.join(': '))).trim();
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

/** A string field of a JSON object that may have been cut off. */
const jsonText = (text: string, name: string): string | undefined =>
  new RegExp(`"${name}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)"`).exec(text)?.[1];
