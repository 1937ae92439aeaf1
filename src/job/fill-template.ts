import { shellQuote } from '../base/shell-quote.ts';
import { shellContexts } from './shell-context.ts';
import type { Scalar } from './spec.ts';
import { parseTemplate } from './template.ts';

/** Fills placeholders with the plain text of their values. */
export const fillText = (text: string, values: Record<string, Scalar>): string =>
  parseTemplate(text)
    .parts.map((part) => ('literal' in part ? part.literal : String(values[part.name])))
    .join('');

/** Fills placeholders of a shell command so that each value stays one piece of data, whatever it holds. */
export function fillShell(text: string, values: Record<string, Scalar>): string {
  const { parts } = parseTemplate(text);
  const contexts = shellContexts(parts);
  return parts
    .map((part, index) => {
      if ('literal' in part) return part.literal;
      const value = String(values[part.name]);
      switch (contexts[index]) {
        case 'double':
          return value.replace(/[\\$`"]/g, String.raw`\$&`);
        case 'single':
          return value.replaceAll("'", String.raw`'\''`);
        default:
          return shellQuote(value);
      }
    })
    .join('');
}
