import { once } from 'node:events';
import * as fs from 'node:fs';
import * as fsp from 'node:fs/promises';
import path from 'node:path';

/** Something that we rely on in Node's modules, as data. */
export type Behaviour = (folder: string) => unknown;

/** The outcome, or the code of the error. */
export const tried = async (action: () => unknown): Promise<unknown> => {
  try {
    return await action();
  } catch (error) {
    return codeOf(error);
  }
};
export const codeOf = (error: unknown): string => {
  const { code, name } = error as { code?: string; name: string };
  return code ?? name;
};

/** A folder with a file, a link to it, a link to a folder and a broken link. */
function tree(folder: string): string {
  const root = path.join(folder, 'tree');
  fs.mkdirSync(path.join(root, 'sub/deep'), { recursive: true });
  fs.writeFileSync(path.join(root, 'file'), 'x'.repeat(10));
  fs.writeFileSync(path.join(root, 'sub/deep/leaf'), 'leaf');
  fs.symlinkSync('file', path.join(root, 'to-file'));
  fs.symlinkSync('sub', path.join(root, 'to-folder'));
  fs.symlinkSync('nowhere', path.join(root, 'broken'));
  return root;
}

const sorted = (names: string[]): string[] => [...names].sort();
const { O_RDONLY, O_NOFOLLOW, O_CREAT, O_EXCL, O_WRONLY, O_DIRECTORY, COPYFILE_EXCL } = fs.constants;

export const files: Record<string, Behaviour> = {
  'readdir, recursive: links to folders': async (folder) => {
    const root = tree(folder);
    // Here only: to see whether Bun still follows them.
    const options = { recursive: true, withFileTypes: true } as const;
    const entries = await fsp.readdir(root, options);
    return sorted(entries.map(({ parentPath, name }) => path.relative(root, path.join(parentPath, name))));
  },
  'readdir with types': async (folder) =>
    sorted(
      (await fsp.readdir(tree(folder), { withFileTypes: true })).map(
        (entry) => `${entry.name} ${entry.isFile()} ${entry.isDirectory()} ${entry.isSymbolicLink()}`,
      ),
    ),
  'opendir, iterated': async (folder) => {
    const names = [];
    for await (const entry of await fsp.opendir(tree(folder)))
      names.push(`${entry.name} ${entry.isDirectory()}`);
    return sorted(names);
  },
  'glob: hidden names, links, no match': (folder) => {
    const cwd = tree(folder);
    fs.writeFileSync(path.join(cwd, '.hidden'), '');
    return [
      sorted(fs.globSync('**/*', { cwd })),
      fs.globSync('none/*', { cwd }),
      sorted(fs.globSync('*', { cwd })),
    ];
  },
  'cp: a tree with links': async (folder) => {
    const root = tree(folder);
    const copy = path.join(folder, 'copy');
    await fsp.cp(root, copy, { recursive: true, verbatimSymlinks: true });
    return [sorted(fs.readdirSync(copy)), fs.readlinkSync(path.join(copy, 'to-folder'))];
  },
  'rm: follows no link, is silent only with force': async (folder) => {
    const root = tree(folder);
    await fsp.rm(path.join(root, 'to-folder'), { recursive: true });
    const kept = fs.existsSync(path.join(root, 'sub/deep/leaf'));
    return [
      kept,
      await tried(() => fsp.rm(path.join(root, 'none'))),
      await tried(() => fsp.rm(path.join(root, 'none'), { force: true })),
    ];
  },
  'errors of paths': async (folder) => {
    const root = tree(folder);
    const at = (name: string): string => path.join(root, name);
    fs.symlinkSync('loop', at('loop'));
    return await Promise.all(
      [
        () => fsp.readFile(at('none')),
        () => fsp.readFile(at('sub')),
        () => fsp.readFile(at('file/below')),
        () => fsp.readFile(at('loop')),
        () => fsp.readdir(at('file')),
        () => fsp.rmdir(at('sub')),
        () => fsp.unlink(at('sub')),
        () => fsp.mkdir(at('sub')),
        () => fsp.rename(at('file'), at('sub')),
        () => fsp.rename(at('sub'), at('file')),
        () => fsp.link(at('file'), at('to-file')),
        () => fsp.symlink('x', at('file')),
        () => fsp.readlink(at('file')),
        () => fsp.open(at('n'.repeat(300))),
        () => fsp.readFile(`${at('file')}\0`),
        () => fsp.stat(at('broken')),
        () => fsp.realpath(at('broken')),
        () => fsp.access(at('file'), fs.constants.X_OK),
        () => fsp.truncate(at('none')),
        () => fsp.utimes(at('none'), 1, 1),
        () => fsp.chmod(at('none'), 0o600),
      ].map(tried),
    );
  },
  'open: flags that must hold': async (folder) => {
    const root = tree(folder);
    const open = (name: string, flags: number): Promise<unknown> =>
      tried(async () => (await fsp.open(path.join(root, name), flags, 0o640)).close());
    return await Promise.all([
      open('file', O_WRONLY | O_CREAT | O_EXCL),
      open('to-file', O_RDONLY | O_NOFOLLOW),
      open('sub', O_RDONLY | O_DIRECTORY),
      open('file', O_RDONLY | O_DIRECTORY),
      tried(() => fsp.writeFile(path.join(root, 'file'), '', { flag: 'wx' })),
      tried(() => fsp.copyFile(path.join(root, 'file'), path.join(root, 'to-file'), COPYFILE_EXCL)),
    ]);
  },
  'a full disk': async () => [
    await tried(() => fsp.writeFile('/dev/full', 'x')),
    await tried(async () => {
      await using handle = await fsp.open('/dev/full', 'w');
      await handle.write('x');
    }),
    await tried(() => fs.writeSync(fs.openSync('/dev/full', 'w'), 'x')),
    await tried(async () => {
      const stream = fs.createWriteStream('/dev/full');
      stream.end('x');
      await once(stream, 'close');
    }),
  ],
  'stat: kinds, sizes, whole nanoseconds': (folder) => {
    const file = path.join(tree(folder), 'file');
    fs.utimesSync(file, 1_700_000_000.25, 1_700_000_000.123456);
    const big = fs.lstatSync(file, { bigint: true });
    const { size, mode, nlink, mtimeMs } = fs.lstatSync(file);
    return [
      size,
      mode & 0o170000,
      nlink,
      Math.floor(mtimeMs),
      typeof big.mtimeNs,
      String(big.mtimeNs / 1000n),
    ];
  },
  'lutimes, link counts, modes': (folder) => {
    const root = tree(folder);
    fs.lutimesSync(path.join(root, 'to-file'), 5, 6);
    fs.linkSync(path.join(root, 'file'), path.join(root, 'second'));
    fs.chmodSync(path.join(root, 'file'), 0o4755);
    const { nlink, mode } = fs.statSync(path.join(root, 'second'));
    return [fs.lstatSync(path.join(root, 'to-file')).mtimeMs, nlink, (mode & 0o7777).toString(8)];
  },
  statfs: (folder) => {
    const { bsize, blocks, bavail } = fs.statfsSync(folder);
    return [bsize > 0, blocks > bavail, typeof fs.statfsSync(folder, { bigint: true }).bavail];
  },
  'file handles: positions, short reads, sync, truncation': async (folder) => {
    const file = path.join(tree(folder), 'file');
    await using handle = await fsp.open(file, 'r+');
    await handle.write(Buffer.from('abc'), 0, 3, 8);
    await handle.sync();
    await handle.datasync();
    const { bytesRead } = await handle.read(Buffer.alloc(100), 0, 100, 4);
    await handle.truncate(5);
    return [
      bytesRead,
      (await handle.stat()).size,
      (await handle.readFile()).toString(),
      await tried(() => handle.appendFile('z')),
    ];
  },
  'append: one line per write, whoever else writes': async (folder) => {
    const file = path.join(folder, 'log');
    await Promise.all(Array.from({ length: 20 }, (_, i) => fsp.appendFile(file, `${i}\n`)));
    return fs.readFileSync(file, 'utf8').split('\n').length;
  },
  'fs.watch: a change of a folder is seen': async (folder) => {
    const watcher = fs.watch(folder);
    const seen = once(watcher, 'change', { signal: AbortSignal.timeout(10_000) });
    fs.writeFileSync(path.join(folder, 'new'), '');
    const [, name] = (await seen) as [string, string];
    watcher.close();
    return name;
  },
  'names that are not UTF-8, as bytes': (folder) => {
    fs.writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x66, 0xff])]), '');
    return fs.readdirSync(folder, { encoding: 'buffer' }).map((name) => Buffer.from(name).toString('hex'));
  },
};
