import { defined } from '@updraft/base';

export interface LockedPackage {
  kind: 'conda' | 'pypi' | 'source';
  /** Where it comes from, without user name and password. */
  url: string;
  /** In lower case; for a PyPI package with `-` for `_` and `.`. */
  name: string;
  version: string;
  /** The build string of a conda package; empty for others. */
  build: string;
  /** `linux-64`, `noarch`; only for conda packages. */
  subdir?: string;
  sha256?: string;
  md5?: string;
  bytes?: number;
  depends: string[];
  constrains: string[];
  /** Names of a conda package on PyPI: `pytorch` is `torch` there. */
  onPypi: string[];
}

type Fields = Record<string, unknown>;

/** A package from its fields in the lock; missing fields are taken from its file name. */
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

type Named = Pick<LockedPackage, 'name' | 'version' | 'build' | 'subdir'>;

/** The file name of a conda package. */
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
