import { createHash } from 'node:crypto';
import { crc32, zstdCompressSync } from 'node:zlib';
import { tarEntry } from '../archives/make-tar.ts';

/** Stands for the environment's folder until the package is installed. */
export const placeholder = `/${'placehold_'.repeat(12)}`;

export interface CondaPackage {
  file: string;
  bytes: Buffer;
  /** Its record in the channel's index. */
  record: Record<string, unknown>;
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');

/** Fields of a package's record besides name and version. */
interface RecordFields {
  build?: string;
  depends?: string[];
  constrains?: string[];
  subdir?: string;
}

/** A conda package in the `.conda` format: a zip of two tars, with the paths and hashes that installers need. */
export function makeConda(
  name: string,
  version: string,
  files: Record<string, string | Buffer>,
  { build = '0', depends = [], constrains = [], subdir = 'linux-64' }: RecordFields = {},
): CondaPackage {
  const stem = `${name}-${version}-${build}`;
  const index = {
    name,
    version,
    build,
    depends,
    constrains,
    subdir,
    // As conda-forge writes it: the last number of the build string, higher for GPU builds.
    build_number: Number(/_(\d+)$/.exec(build)?.[1] ?? 0),
    ...(subdir === 'noarch' ? { noarch: 'generic' } : { arch: 'x86_64', platform: 'linux' }),
  };
  const paths = Object.entries(files).map(([file, text]) => ({
    _path: file,
    path_type: 'hardlink',
    sha256: sha256(Buffer.from(text)),
    size_in_bytes: Buffer.byteLength(text),
    ...(text.includes(placeholder) && { prefix_placeholder: placeholder, file_mode: 'text' }),
  }));
  const info = {
    'info/index.json': JSON.stringify(index),
    'info/paths.json': JSON.stringify({ paths, paths_version: 1 }),
    'info/files': `${Object.keys(files).join('\n')}\n`,
  };
  const bytes = zip({
    'metadata.json': Buffer.from('{"conda_pkg_format_version": 2}'),
    [`pkg-${stem}.tar.zst`]: zstdCompressSync(tar(files, 0o755)),
    [`info-${stem}.tar.zst`]: zstdCompressSync(tar(info, 0o644)),
  });
  const record = {
    ...index,
    size: bytes.length,
    sha256: sha256(bytes),
    md5: md5(bytes),
    timestamp: 1_700_000_000_000,
  };
  return { file: `${stem}.conda`, bytes, record };
}

function tar(files: Record<string, string | Buffer>, mode: number): Buffer {
  const entries = Object.entries(files).map(([name, data]) => tarEntry({ name, data, mode }));
  return Buffer.concat([...entries, Buffer.alloc(1024)]);
}

/** A zip with stored (uncompressed) parts, as conda requires. */
function zip(files: Record<string, Buffer>): Buffer {
  const [local, central]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const [name, data] of Object.entries(files)) {
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x21, 8);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const where = Buffer.alloc(14);
    where.writeUInt32LE(at, 10);
    central.push(Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, where, Buffer.from(name));
    local.push(Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), data);
    at += 30 + name.length + data.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(Object.keys(files).length, 8);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...local, directory, end]);
}
