import { lstat, readFile } from 'node:fs/promises';
import path from 'node:path';
import { unlessGone } from '../../base/error-reason.ts';
import { isSecretName } from '../../base/file-without-secrets.ts';
import { walkFiles } from '../../base/walk-tree.ts';
import { logFile } from '../../eventlog/log-sources.ts';
import { gather, isEventLog, type LogSource } from '../../eventlog/scan-log.ts';
import { tokenLocations } from '../../federation/token-locations.ts';
import { runFiles, sandboxFiles } from '../../job/layout.ts';
import { readPlan } from '../../pool/read-plan.ts';
import { secretsFile } from '../../pool/stored-secrets.ts';
import type { Cli } from '../cli.ts';

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

/** Plan, journals, logs and submit files of a run, and its job file. Links in the run's folder are left out. */
export async function runBundleFiles(folder: string): Promise<BundleFile[]> {
  const names = (await walkFiles(folder)).filter((name) => {
    const own = path.basename(name);
    const isWanted = isText.test(own) && own !== sandboxFiles.secrets;
    return isWanted && !name.split('/').some((part) => leftOut.has(part));
  });
  const { file = '' } = (await readPlan(folder).catch(() => undefined)) ?? {};
  // The plan of a stranger's run may name any file, and so may a link.
  const at = path.dirname(file) === path.resolve(folder, '../..') ? await unlessGone(lstat(file)) : undefined;
  return [
    ...(at?.isFile() ? [bundleFile(file, path.basename(file))] : []),
    ...names.map((name) => bundleFile(path.join(folder, name), path.join('run', name))),
  ];
}

/** Logs and other files that a user named; those of one name get numbers. */
export function namedBundleFiles(sources: readonly LogSource[]): BundleFile[] {
  const used = new Map<string, number>();
  return sources.map((source) => {
    const base = path.basename(source.name).replace(/\.(?:gz|bz2|xz|zst)$/, '');
    const uses = (used.get(base) ?? 0) + 1;
    used.set(base, uses);
    const name = path.join('files', uses === 1 ? base : `${uses}-${base}`);
    return { name, read: () => readLimited(source) };
  });
}

const bundleFile = (file: string, name: string): BundleFile => ({
  name,
  read: async () => readLimited(await logFile(file)),
});

/** Of a larger file, the bundle has this much of the beginning and of the end. */
const maxPartBytes = 32e6;

async function readLimited(source: LogSource): Promise<string> {
  const [head, tail]: [Buffer[], Buffer[]] = [[], []];
  let [headBytes, tailBytes, leftOut] = [0, 0, 0];
  for await (const piece of source.open()) {
    const bytes = Buffer.from(piece);
    if (headBytes < maxPartBytes) {
      head.push(bytes);
      headBytes += bytes.length;
      continue;
    }
    tail.push(bytes);
    tailBytes += bytes.length;
    while (tailBytes - (tail[0]?.length ?? 0) > maxPartBytes) {
      const gone = tail.shift()?.length ?? 0;
      tailBytes -= gone;
      leftOut += gone;
    }
  }
  const [first, last] = [head, tail].map((pieces) => Buffer.concat(pieces).toString('utf8'));
  if (first === undefined || last === undefined || leftOut === 0) return `${first ?? ''}${last ?? ''}`;
  // Whole lines only: half a secret would not be recognized.
  return `${first.slice(0, first.lastIndexOf('\n') + 1)}[more than ${leftOut} bytes are left out here]\n${last.slice(last.indexOf('\n') + 1)}`;
}

/** Whether a file that a user named is an event log. */
export async function isLog(source: LogSource): Promise<boolean> {
  for await (const piece of gather(source.open(), sniffedBytes))
    return isEventLog(piece.subarray(0, sniffedBytes));
  return false;
}

const sniffedBytes = 65_536;

/** Shorter values may be words. */
const minChars = 8;

/** Secrets that this user has here: variables, tokens, and those of a run. They may be in any file, without a name. */
export async function knownSecrets(cli: Cli, run: string | undefined): Promise<string[]> {
  const places = await tokenLocations(cli, {});
  const tokens = places.map(async (place) =>
    'token' in place ? place.token : readFile(place.file, 'utf8').catch(() => ''),
  );
  const stored =
    run === undefined
      ? '{}'
      : await readFile(secretsFile(cli.env, path.basename(run)), 'utf8').catch(() => '{}');
  const values = [
    ...Object.entries(cli.env).flatMap(([name, value = '']) => (isSecretName(name) ? [value] : [])),
    ...(await Promise.all(tokens)),
    ...Object.values(JSON.parse(stored) as Record<string, string>),
  ];
  return [...new Set(values.map((value) => value.trim()).filter((value) => value.length >= minChars))];
}
