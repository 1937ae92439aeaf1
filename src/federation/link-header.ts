export interface Link {
  target: string;
  /** Lower-case names; a parameter without a value has the empty string. */
  parameters: Record<string, string>;
}

/**
 * Reads a Link header (RFC 8288): targets may hold commas and semicolons, parameter values may be quoted. What
 * cannot be read is passed over. Sorted by `pri`, lowest first; links without one come last, in their order.
 */
export function parseLinkHeader(header: string): Link[] {
  const links: Link[] = [];
  let at = 0;
  while ((at = header.indexOf('<', at)) >= 0) {
    const end = header.indexOf('>', at);
    if (end < 0) break;
    const target = header.slice(at + 1, end).trim();
    const read = readParameters(header, end + 1);
    links.push({ target, parameters: read.parameters });
    at = read.end;
  }
  return links.sort((a, b) => priority(a) - priority(b));
}

const parameter = /\s*;\s*([^\s=;,"<>]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/sy;

function readParameters(header: string, from: number): { parameters: Record<string, string>; end: number } {
  const parameters: Record<string, string> = {};
  let end = from;
  for (;;) {
    parameter.lastIndex = end;
    const match = parameter.exec(header);
    if (match === null) return { parameters, end };
    end = parameter.lastIndex;
    const [, name = '', quoted, token] = match;
    // The first of several parameters of one name counts (RFC 8288, 3.3).
    if (name !== '') parameters[name.toLowerCase()] ??= quoted?.replace(/\\(.)/gs, '$1') ?? token ?? '';
  }
}

function priority(link: Link): number {
  const pri = Number.parseInt(link.parameters['pri'] ?? '', 10);
  return Number.isNaN(pri) ? Number.MAX_SAFE_INTEGER : pri;
}
