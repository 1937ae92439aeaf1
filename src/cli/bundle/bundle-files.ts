import { open, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { errorReason } from '../../base/error-reason.ts';
import { Fault } from '../../fault/fault.ts';
import { runFiles, sandboxFiles } from '../../job/layout.ts';
import { readPlan } from '../../pool/read-plan.ts';

/** A file of a bundle, before anything is removed from it. */
export interface BundleFile {
  /** Its path in the bundle. */
  name: string;
  read: () => Promise<string>;
}

/** Folders of a run with what the user wrote, downloaded or trained, which nobody needs to explain a failure. */
const leftOut: ReadonlySet<string> = new Set([
  runFiles.files,
  runFiles.data,
  runFiles.results,
  runFiles.supervisor,
  sandboxFiles.checkpoint,
]);
const isText = /\.(?:jsonl?|log|sub|items|sh|out|err|sbatch|toml|ya?ml|txt)$|^updraft-job$/;

/** Plan, journals, logs and submit files of a run, and its job file. */
export async function runBundleFiles(folder: string): Promise<BundleFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && isText.test(entry.name) && entry.name !== sandboxFiles.secrets)
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((name) => !name.split(path.sep).some((part) => leftOut.has(part)))
    .sort();
  const plan = await readPlan(folder).catch(() => undefined);
  const hasJobFile = plan !== undefined && (await stat(plan.file).catch(() => undefined))?.isFile() === true;
  return [
    ...(hasJobFile ? [bundleFile(plan.file, path.basename(plan.file))] : []),
    ...names.map((name) => bundleFile(path.join(folder, name), path.join('run', name))),
  ];
}

/** Files that a user named; those of one name get numbers. */
export function namedBundleFiles(files: readonly string[]): BundleFile[] {
  const used = new Map<string, number>();
  return files.map((file) => {
    const base = path.basename(file).replace(/\.gz$/, '');
    const uses = (used.get(base) ?? 0) + 1;
    used.set(base, uses);
    return bundleFile(file, path.join('files', uses === 1 ? base : `${uses}-${base}`));
  });
}

const bundleFile = (file: string, name: string): BundleFile => ({ name, read: () => readLimited(file) });

/** Of a larger file, the bundle has the beginning and the end. */
const maxBytes = 64e6;

async function readLimited(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size <= maxBytes) return textOf(await readFile(file));
    await using handle = await open(file, 'r');
    const part = async (from: number): Promise<string> => {
      const bytes = Buffer.alloc(maxBytes / 2);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, from);
      return bytes.toString('utf8', 0, bytesRead);
    };
    // Whole lines only: half a secret would not be recognized.
    const [first, last] = [await part(0), await part(size - maxBytes / 2)];
    const [head, tail] = [first.slice(0, first.lastIndexOf('\n') + 1), last.slice(last.indexOf('\n') + 1)];
    return `${head}[${size - head.length - tail.length} bytes left out]\n${tail}`;
  } catch (error) {
    throw new Fault('file-invalid', `${file} cannot be read: ${errorReason(error)}`, {
      about: file,
      cause: error,
    });
  }
}

const textOf = (bytes: Buffer): string =>
  (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString('utf8');

const sniffed = 65_536;

/** Whether a file looks like an event log, in any of its formats. */
export async function isEventLog(file: string): Promise<boolean> {
  await using handle = await open(file, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(sniffed), 0, sniffed, 0);
  const head = buffer.toString('latin1', 0, bytesRead);
  return head.startsWith('\x1f\x8b') || /^\d{3} \(\d+\.\d+\.\d+\) |<c>|"EventTypeNumber"/m.test(head);
}
