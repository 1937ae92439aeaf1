import { type Clock, printable } from '@updraft/base';
import { messageWithoutSecrets } from '@updraft/base/secrets';
import type { HttpConnection } from './http-connection.ts';
import type { ResponseHead } from './response.ts';

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
