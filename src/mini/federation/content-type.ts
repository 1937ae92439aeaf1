import path from 'node:path';

const byExtension: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.gif': 'image/gif',
  '.htm': 'text/html; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.xml': 'text/xml; charset=utf-8',
};

const html =
  /^[\t\n\f\r ]*<(!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)[ >]/i;

/** As Go's net/http chooses it: by the name's end, else by the first bytes. */
export function sniffContentType(name: string, head: Buffer): string {
  const known = byExtension[path.extname(name).toLowerCase()];
  if (known !== undefined) return known;
  if (html.test(head.toString('latin1'))) return 'text/html; charset=utf-8';
  if (head[0] === 0x1f && head[1] === 0x8b) return 'application/x-gzip';
  if (head.toString('latin1', 0, 4) === 'PK\x03\x04') return 'application/zip';
  const binary = head.some((byte) => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte));
  return binary ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}
