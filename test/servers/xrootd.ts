import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { freePorts, startProcess, type ServerProcess } from './server-process.ts';

/** XRootD refuses to run as root. */
const nobody = { uid: 65534, gid: 65534 };

export interface XrootdServer extends ServerProcess {
  httpUrl: string;
  /** `host:port` of its own protocol. */
  address: string;
}

interface Folders {
  /** A folder for its configuration and state. */
  folder: string;
  /** What it publishes, or where a cache keeps what it fetched. */
  root: string;
}

/** Starts XRootD as an origin: a folder over HTTP, with checksums. */
export async function startOrigin(file: string, folders: Folders): Promise<XrootdServer> {
  return await start(file, folders, ['xrootd.chksum max 2 md5 adler32 crc32c']);
}

/** Starts XRootD as a caching proxy before an origin. */
export async function startCache(file: string, folders: Folders, origin: string): Promise<XrootdServer> {
  return await start(file, folders, [
    'xrootd.chksum max 2 md5 adler32',
    'ofs.ckslib * libXrdPss.so',
    'ofs.osslib libXrdPss.so',
    'pss.cachelib libXrdPfc.so',
    `pss.origin ${origin}`,
    'pfc.ram 1g',
    'pfc.blocksize 256k',
    'pfc.diskusage 0.90 0.95',
  ]);
}

async function start(file: string, { folder, root }: Folders, lines: string[]): Promise<XrootdServer> {
  const user = os.userInfo().uid === 0 ? nobody : undefined;
  await mkdir(root, { recursive: true });
  await mkdir(folder, { recursive: true });
  if (user !== undefined) {
    await chmod(path.dirname(folder), 0o755);
    for (const each of [folder, root]) await chown(each, user.uid, user.gid);
  }
  const [own = 0, http = 0] = await freePorts(2);
  const configuration = path.join(folder, 'xrootd.cfg');
  const ports = [`xrd.port ${own}`, `xrd.protocol http:${http} libXrdHttp.so`];
  const places = [`oss.localroot ${root}`, `all.adminpath ${folder}`, `all.pidpath ${folder}`];
  await writeFile(configuration, ['all.export /', ...lines, ...ports, ...places, ''].join('\n'));
  const running = await startProcess(file, ['-c', configuration, '-n', path.basename(folder)], {
    ready: /xrootd .*initialization completed/,
    ...(user !== undefined && { user }),
  });
  return { ...running, httpUrl: `http://127.0.0.1:${http}`, address: `127.0.0.1:${own}` };
}
