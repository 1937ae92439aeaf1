import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { counted, defined, errorReason, fileSize, isGone, tried } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { isLocal, isPath } from './inside.ts';
import {
  type KeyPath,
  problemAt,
  problemAtKey,
  type SourceFile,
  type SpecProblem,
  valueAt,
} from './source-file.ts';
import type { DataSource, LocalData, ResolvedData } from './spec.ts';

export interface DataPlaces {
  /** Folder of the job file. */
  folder: string;
  home: string | undefined;
  tokenFor?: ((url: string) => Promise<string | undefined>) | undefined;
  confirmedFor?: ((urls: string[]) => Promise<string[] | undefined>) | undefined;
}

/** Makes the paths of a data source absolute; adds what is missing or unusable on this machine to `problems`. */
export async function resolveData(
  data: DataSource,
  source: SourceFile,
  places: DataPlaces,
  problems: SpecProblem[],
): Promise<ResolvedData> {
  const named = { file: data.tokenFile, url: data.url, at: ['data', data.name, 'token_file'] };
  const tokenFile = await resolveToken(named, source, places, problems);
  const resolved = { ...data, ...defined({ tokenFile }) };
  if (!isLocal(data.url)) return resolved;
  const file = localPath(data.url, places);
  try {
    const { expect, ...here } = await inspect(file, data, places);
    if (here.isFolder) problems.push(...folderProblems(data, source, expect.files ?? 0));
    return {
      ...resolved,
      url: pathToFileURL(file ?? '').href,
      ...(here.isFolder && { unpack: 'tar' as const, expect }),
      here,
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const fix = error.fix === undefined ? '' : `; ${error.fix}`;
    problems.push(problemAt(source, ['data', data.name, 'url'], `${error.message}${fix}`));
    return resolved;
  }
}

const expectedHere =
  'expected a file or folder on this machine, like "images/" or "file:///home/me/data.tar"';

async function inspect(
  file: string | undefined,
  { url, expect }: DataSource,
  { folder }: DataPlaces,
): Promise<LocalData & Pick<DataSource, 'expect'>> {
  if (file === undefined)
    throw new Fault('file-invalid', `${url} is on another machine`, { fix: expectedHere });
  const info = await stat(file).catch((error: unknown) => {
    const what = isGone(error) ? 'does not exist' : `cannot be read: ${errorReason(error)}`;
    throw new Fault('file-invalid', `${file} ${what}`, { fix: expectedHere });
  });
  if (info.isFile()) return { bytes: info.size, fingerprint: `${info.size} ${info.mtimeMs}`, expect };
  if (!info.isDirectory())
    throw new Fault('file-invalid', `${file} is neither a file nor a folder`, { fix: 'name one of them' });
  const [inner, outer] = await Promise.all(
    [folder, file].map(async (one) => path.join(await realpath(one), '/')),
  );
  if (inner?.startsWith(outer ?? ''))
    throw new Fault('file-invalid', `${file} contains this job file and its runs`, {
      fix: 'put the data into a folder of its own, and name that',
    });
  return await inspectFolder(file);
}

/** Reads no file: names, sizes and times make the fingerprint. */
async function inspectFolder(folder: string): Promise<LocalData & Pick<DataSource, 'expect'>> {
  const { describeFolder } = await import('../stage/folder.ts');
  const { shard, count, fingerprint } = await describeFolder(await realpath(folder));
  if (count === 0)
    throw new Fault('file-invalid', `${folder} is an empty folder`, { fix: 'name one with files' });
  return { isFolder: true, bytes: shard.bytes, fingerprint, expect: { files: count, bytes: shard.bytes } };
}

/** Keys that only an archive can have, and a number of files that differs. */
function folderProblems(
  { name, expect: { files: declared } }: DataSource,
  source: SourceFile,
  files: number,
): SpecProblem[] {
  const at = (...key: string[]): KeyPath => ['data', name, ...key];
  const idle = [at('unpack'), at('sha256'), at('manifest'), at('expect', 'bytes')]
    .filter((key) => valueAt(source.value, key) !== undefined)
    .map((key) =>
      problemAtKey(
        source,
        key,
        'only applies to an archive; remove it: Updraft packs and verifies a folder itself',
      ),
    );
  if (declared === undefined || declared === files) return idle;
  const message = `is ${declared}, but the folder has ${counted(files, 'file')}`;
  return [...idle, problemAt(source, at('expect', 'files'), message)];
}

/** The absolute path of a token's file: the one that the job file names, or else the login for the object. */
export async function resolveToken(
  { file, url, at }: { file: string | undefined; url: string | undefined; at: KeyPath },
  source: SourceFile,
  places: DataPlaces,
  problems: SpecProblem[],
): Promise<string | undefined> {
  if (file === undefined) return url === undefined ? undefined : await places.tokenFor?.(url);
  const tokenFile = absolute(file, places);
  if ((await fileSize(tokenFile)) === undefined)
    problems.push(problemAt(source, at, `${tokenFile} does not exist; expected a file with the token`));
  return tokenFile;
}

const absolute = (file: string, { folder, home }: DataPlaces): string =>
  path.resolve(folder, home === undefined ? file : file.replace(/^~(?=\/|$)/, () => home));

/** Undefined for a URL that names another host. */
function localPath(url: string, places: DataPlaces): string | undefined {
  if (isPath(url)) return absolute(url, places);
  return tried(() => path.resolve(fileURLToPath(url)));
}
