import path from 'node:path';
import { bunFor, type Arch } from '../../scripts/bun.ts';
import type { Variant } from '../interleave.ts';
import { plainEnvironment, program } from '../peers.ts';
import type { NestedArchive } from './nested-archive.ts';

const unpackOne = path.join(import.meta.dirname, 'unpack-one.ts');
const asUser = '--no-same-owner --no-same-permissions';

/** Download, unpack, unpack each class, remove the archives: what typical job scripts do. */
const stepByStep = `set -e
  curl -sS -o "$2/train.tar" "$1"
  mkdir "$2/into"
  tar ${asUser} -xf "$2/train.tar" -C "$2/into"
  for inner in "$2"/into/*.tar; do
    mkdir "\${inner%.tar}"
    tar ${asUser} -xf "$inner" -C "\${inner%.tar}"
    rm "$inner"
  done
  rm "$2/train.tar"`;

/** No second copy, but a process for each class. */
const piped = `set -e -o pipefail
  mkdir "$2/into"
  export INTO="$2/into"
  curl -sS "$1" | tar -xf - --to-command='
    class="$INTO/\${TAR_FILENAME%.tar}"; mkdir -p "$class" && tar ${asUser} -xf - -C "$class"'`;

/** Variants of getting from a URL to a tree of files in `into` of `folder`. */
export async function unpackVariants(
  url: string,
  folder: string,
  archive: NestedArchive,
  compileCache: string,
): Promise<Variant[]> {
  program('curl');
  const env = plainEnvironment(compileCache);
  const into = path.join(folder, 'into');
  const bun = await bunFor(process.arch as Arch);
  const ours = (runtime: string, ...manifest: string[]): string[] => [
    runtime,
    unpackOne,
    url,
    into,
    ...manifest,
  ];
  return [
    { name: 'curl; tar; tar each; rm', command: ['bash', '-c', stepByStep, 'bash', url, folder] },
    { name: 'curl \\| tar --to-command', command: ['bash', '-c', piped, 'bash', url, folder] },
    { name: 'Updraft, every chunk verified', command: ours(process.execPath, archive.manifestFile), env },
    { name: 'Updraft, not verified', command: ours(process.execPath), env },
    { name: 'Updraft on the Bun of the agent, verified', command: ours(bun, archive.manifestFile), env },
    { name: 'Updraft on the Bun of the agent, not verified', command: ours(bun), env },
  ];
}
