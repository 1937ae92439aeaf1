import type { Clock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { withoutSecrets } from '../../base/without-secrets.ts';
import type { HttpConnection } from './http-connection.ts';
import type { ResponseHead } from './response-head.ts';

const mostBytes = 2048;
const mostLetters = 160;
const patienceMs = 1_000;

/** What a server says in the body of a refusal, short and printable; empty when it says nothing, or a page. */
export async function serverWords(
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
    if (bytes >= mostBytes) connection.destroy();
  });
  await Promise.race([body, clock.sleep(patienceMs, isOver.signal)]).catch(() => undefined);
  isOver.abort();
  if (headers.get('content-type')?.startsWith('text/html') === true) return '';
  const text = Buffer.concat(parts).toString('utf8', 0, mostBytes);
  const said = ['error', 'msg', 'message', 'detail'].flatMap((name) => jsonText(text, name) ?? []);
  const words = printable(withoutSecrets(said.length === 0 ? text : said.join(': '))).trim();
  return words.length > mostLetters ? `${words.slice(0, mostLetters)}…` : words;
}

/** A text of a JSON object that may have been cut off. */
function jsonText(text: string, name: string): string | undefined {
  return new RegExp(`"${name}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)"`).exec(text)?.[1];
}
