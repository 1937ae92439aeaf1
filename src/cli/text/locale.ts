import type { Env } from '../../base/env.ts';

/** Whether a terminal of this environment shows UTF-8. An empty variable counts as unset, as it does for the C library. */
export function isUtf8(env: Env): boolean {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => (value ?? '') !== '') ?? '';
  return /utf-?8/i.test(locale);
}

const plain: Partial<Record<string, string>> = {
  '…': '~',
  '’': "'",
  '·': '-',
  '–': '-',
  '×': 'x',
  '✓': '+',
  '✗': '!',
};

/** Our own marks as ASCII, each as wide as before; what a user has named stays as it is. */
export const withPlainMarks = (text: string): string =>
  text.replaceAll(/[…’·–×✓✗]/g, (mark) => plain[mark] ?? mark);
