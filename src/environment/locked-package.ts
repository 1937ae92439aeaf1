import { defined } from '../base/defined.ts';

/** One package that a lock file names. */
export interface LockedPackage {
  kind: 'conda' | 'pypi' | 'source';
  /** Where it comes from, without user name and password. */
  url: string;
  /** In lower case; of a PyPI package with `-` for `_` and `.`. */
  name: string;
  version: string;
  /** The build string of a conda package; empty for others. */
  build: string;
  /** `linux-64`, `noarch`; undefined for what is not a conda package. */
  subdir?: string;
  sha256?: string;
  md5?: string;
  bytes?: number;
  depends: string[];
  constrains: string[];
  /** Names under which PyPI has what a conda package holds: `torch` is its `pytorch`. */
  onPypi: string[];
}

type Fields = Record<string, unknown>;

/** A package from what the lock says of it; what it leaves out is in the name of its file. */
export function lockedPackage(kind: LockedPackage['kind'], url: string, fields: Fields): LockedPackage {
  const named = kind === 'conda' ? condaName(url) : kind === 'pypi' ? wheelName(url) : sourceName(url);
  const text = (key: string): string | undefined =>
    typeof fields[key] === 'string' || typeof fields[key] === 'number' ? String(fields[key]) : undefined;
  const [sha256, md5, subdir] = [text('sha256'), text('md5'), text('subdir') ?? named.subdir];
  const { size } = fields;
  return {
    kind,
    url: url.replace(/^([a-z][a-z+]*:\/\/)[^/@]*@/i, '$1'),
    name: plainName(kind, text('name') ?? named.name),
    version: text('version') ?? named.version,
    build: text('build') ?? named.build,
    ...defined({ subdir, sha256: sha256?.toLowerCase(), md5: md5?.toLowerCase() }),
    ...(typeof size === 'number' && { bytes: size }),
    depends: texts(fields['depends'] ?? fields['requires_dist']),
    constrains: texts(fields['constrains']),
    onPypi: texts(fields['purls']).flatMap((purl) => /^pkg:pypi\/([^@?#]+)/.exec(purl)?.[1] ?? []),
  };
}

/** The name by which packages of a kind are compared. */
export const plainName = (kind: LockedPackage['kind'], name: string): string =>
  kind === 'pypi' ? name.toLowerCase().replaceAll(/[-_.]+/g, '-') : name.toLowerCase();

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

interface Named {
  name: string;
  version: string;
  build: string;
  subdir?: string;
}

/** The name of a conda package's file. */
export const condaFile = (url: string): string =>
  decodeURIComponent(url.replace(/[?#].*$/, '').replace(/^.*\//, ''));

/** `…/linux-64/pytorch-gpu-2.7.1-cuda129_mkl_h43a4b0b_304.conda` */
function condaName(url: string): Named {
  const subdir = /([^/]+)\/[^/]*$/.exec(url.replace(/[?#].*$/, ''))?.[1];
  const parts = condaFile(url)
    .replace(/\.(conda|tar\.bz2)$/, '')
    .split('-');
  const [build = '', version = ''] = [parts.pop(), parts.pop()];
  return { name: parts.join('-'), version, build, ...defined({ subdir }) };
}

/** `…/torch-2.4.1%2Bcu124-cp312-cp312-linux_x86_64.whl`, `…/thing-1.0.tar.gz`, or a folder. */
function wheelName(url: string): Named {
  const file =
    url
      .replace(/[?#].*$/, '')
      .split('/')
      .findLast((part) => part !== '') ?? '';
  const [name = '', version = ''] = decodeURIComponent(file)
    .replace(/\.(whl|zip|tar\.\w+)$/, '')
    .split('-');
  return { name, version: /^\d/.test(version) ? version : '', build: '' };
}

/** `name[1a2b3c4d] @ git+https://…` */
const sourceName = (url: string): Named => ({
  name: /^([^[\s@]+)\s*(?:\[[^\]]*\])?\s*@/.exec(url)?.[1] ?? url,
  version: '',
  build: '',
});
