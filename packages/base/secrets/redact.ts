/** Any part of a secret of this length is removed. */
const window = 8;
/** Longer texts, such as listings, are searched only for complete secrets, which is cheap. */
const maxScanned = 1 << 16;

/** Replaces secrets in a text, complete or cut, also base64- or percent-encoded. */
export type Redact = (text: string) => string;

export const createRedact = (secrets: readonly string[]): Redact =>
  replacePieces(secrets.filter((secret) => secret !== '').flatMap(formsOf));

/** Replaces these texts, complete or cut, and no encoded ones. */
export function replacePieces(forms: readonly string[], by = '…'): Redact {
  if (forms.length === 0) return (text) => text;
  const short = forms.filter((form) => form.length < window);
  const pieces = new Set(forms.flatMap(windowsOf));
  const without = (text: string, whole: readonly string[]): string =>
    whole.reduce((kept, form) => kept.replaceAll(form, by), text);
  return (text) =>
    text.length > maxScanned ? without(text, forms) : without(withoutPieces(text, pieces, by), short);
}

function formsOf(secret: string): string[] {
  // Base64 depends on the offset modulo 3, and at the ends on neighboring bytes.
  const encoded = ['', 'x', 'xx'].flatMap((before) =>
    (['base64', 'base64url'] as const).map((how) =>
      Buffer.from(before + secret)
        .toString(how)
        .slice(4, -4),
    ),
  );
  const long = [encodeURIComponent(secret), ...encoded].filter((form) => form.length >= window);
  return [...new Set([secret, ...long])];
}

function windowsOf(form: string): string[] {
  return Array.from({ length: Math.max(0, form.length - window + 1) }, (_, at) =>
    form.slice(at, at + window),
  );
}

function withoutPieces(text: string, pieces: ReadonlySet<string>, by: string): string {
  let [kept, from] = ['', 0];
  for (let at = 0; at + window <= text.length; at++) {
    if (!pieces.has(text.slice(at, at + window))) continue;
    let end = at + window;
    while (pieces.has(text.slice(end - window + 1, end + 1))) end++;
    kept += text.slice(from, at) + by;
    from = end;
    at = end - 1;
  }
  return kept + text.slice(from);
}
