import { archiveKinds } from '../base/archive-kinds.ts';
import { Fault } from '../fault/fault.ts';

const packKinds = ['auto', ...archiveKinds] as const;
export type PackKind = (typeof packKinds)[number];

/** What the query of a federation URL asks for. */
export interface ObjectQuery {
  /** The URL names a collection, and all in it is meant. */
  recursive: boolean;
  /** Unpack after getting, pack before putting. */
  pack?: PackKind;
  /** Go to the origin, past the caches. */
  direct: boolean;
  /** The part of the query that is the director's business, as `a&b=c`. */
  directorQuery: string;
}

const known = new Set(['recursive', 'pack', 'directread', 'prefercached', 'skipstat']);
/** These two say what the client does with the bytes; asking the director with them only splits its answers. */
const ours = new Set(['recursive', 'pack']);

/** Understands `recursive`, `pack`, `directread`, `prefercached`, `skipstat`; others go to the director as they are. */
export function parseObjectQuery(url: string, query: string): ObjectQuery {
  const parts = query.split('&').filter((part) => part !== '');
  const values = new Map<string, string>();
  for (const part of parts) {
    const [name = '', value = ''] = part.split('=', 2);
    if (known.has(name) && values.has(name)) throw invalid(url, `has '${name}' twice in its query`);
    values.set(name, value);
  }
  conflict(url, values, 'pack', 'recursive');
  conflict(url, values, 'directread', 'prefercached');
  const pack = packKind(url, values.get('pack'));
  return {
    recursive: values.has('recursive'),
    direct: values.has('directread'),
    directorQuery: parts.filter((part) => !ours.has(part.split('=', 1)[0] ?? '')).join('&'),
    ...(pack === undefined ? {} : { pack }),
  };
}

function packKind(url: string, value: string | undefined): PackKind | undefined {
  if (value === undefined) return undefined;
  const kind = packKinds.find((known) => known === value);
  if (kind === undefined)
    throw invalid(url, `has pack=${value} in its query`, `write pack= with one of ${packKinds.join(', ')}`);
  return kind;
}

function conflict(url: string, values: Map<string, string>, one: string, other: string): void {
  if (values.has(one) && values.has(other))
    throw invalid(url, `has both '${one}' and '${other}' in its query`, 'keep one of the two');
}

function invalid(url: string, what: string, fix = 'keep only one of them'): Fault {
  return new Fault('url-invalid', `${url} ${what}`, { about: url, fix });
}
