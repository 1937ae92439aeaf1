import { escapePath } from './escape-path.ts';

/** One resource of a WebDAV listing. */
export interface Resource {
  /** Escaped path at the server, without a slash at its end. */
  path: string;
  isCollection: boolean;
  size?: number;
  etag?: string;
  /** Milliseconds since the epoch. */
  modified?: number;
}

const markup =
  /<!--.*?-->|<!\[CDATA\[(.*?)\]\]>|<[?!][^>]*>|<(\/?)(?:[\w.-]+:)?([\w.-]+)(?:"[^"]*"|'[^']*'|[^>"'])*?(\/?)>|([^<]+)/gs;

/**
 * Reads the part of a 207 answer that clients need, from whatever prefixes and order the server writes it in:
 * XRootD, Pelican and Apache differ in all of them. Undefined when the text is no multistatus at all.
 */
export function parseMultistatus(xml: string): Resource[] | undefined {
  const resources: Resource[] = [];
  const open: string[] = [];
  let fields = new Map<string, string>();
  let isMultistatus = false;
  for (const [, cdata, closing, name, selfClosing, text] of xml.matchAll(markup)) {
    if (name === undefined) {
      const field = open.at(-1) ?? '';
      fields.set(field, (fields.get(field) ?? '') + (cdata ?? decodeEntities(text ?? '')));
    } else if (closing === '/') {
      if (name === 'response') resources.push(...toResource(fields));
      open.splice(Math.max(0, open.lastIndexOf(name)));
    } else {
      if (name === 'multistatus') isMultistatus = true;
      if (name === 'response') fields = new Map();
      // XRootD says some things twice: the last word counts.
      fields.delete(name);
      if (name === 'collection' && open.at(-1) === 'resourcetype') fields.set('collection', '1');
      if (selfClosing !== '/') open.push(name);
    }
  }
  return isMultistatus ? resources : undefined;
}

function toResource(fields: Map<string, string>): Resource[] {
  const field = (name: string): string => fields.get(name)?.trim() ?? '';
  const path = hrefPath(field('href'));
  if (path === undefined) return [];
  const isCollection = fields.has('collection') || field('iscollection') === '1';
  const length = field('getcontentlength');
  const modified = Date.parse(field('getlastmodified'));
  const etag = field('getetag');
  return [
    {
      path,
      isCollection,
      ...(/^\d+$/.test(length) && !isCollection ? { size: Number(length) } : {}),
      ...(etag === '' ? {} : { etag }),
      ...(Number.isNaN(modified) ? {} : { modified }),
    },
  ];
}

/** A path or a whole URL, escaped or not. */
function hrefPath(href: string): string | undefined {
  const pathname = href.replace(/^https?:\/\/[^/]*/i, '');
  return pathname.startsWith('/')
    ? escapePath(pathname)
        .replace(/\/{2,}/g, '/')
        .replace(/(.)\/$/, '$1')
    : undefined;
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return entities[name] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
