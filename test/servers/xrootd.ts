import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { type CertificateAuthority, makeCertificateAuthority } from '@updraft/mini/testing';
import { poolRoot } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { needProgram } from './debian-packages.ts';
import { freePorts, startProcess, type ServerProcess } from './server-process.ts';

/** One version of XRootD that can be run here. */
export interface Xrootd {
  command: readonly string[];
  /** Its checksums; the first is the default. */
  checksums: string;
  /** The user it runs as, if not ours: XRootD refuses to run as root. */
  user?: { uid: number; gid: number };
}

/** Pelican's own order for origins and caches; no cache before 5.6 knows crc32c, and it has its origin's digest. */
function checksumsOf(command: readonly string[]): string {
  const [program = '', ...args] = command;
  const { stdout, stderr } = spawnSync(program, [...args, '-v'], { encoding: 'utf8' });
  const isOld = /v5\.[0-5]\./.test(stdout + stderr);
  return isOld ? 'md5 adler32 crc32' : 'crc32c md5 adler32 crc32';
}

const isRoot = os.userInfo().uid === 0;
const nobody = { uid: 65534, gid: 65534 };

export type Version = (t: TestContext) => Xrootd | undefined | Promise<Xrootd | undefined>;

/** The versions that users have. One that is not available is skipped, with the reason. */
export const xrootdVersions: Record<string, Version> = {
  'XRootD of this machine'(t) {
    const file = needProgram(t, 'xrootd', ['xrootd-server', 'xrootd-plugins']);
    if (file === undefined) return undefined;
    return { command: [file], checksums: checksumsOf([file]), ...(isRoot && { user: nobody }) };
  },

  async "the newest XRootD, of the mini pool's root folder"(t) {
    const root = await poolRoot();
    if ('folder' in root) {
      const file = path.join(root.folder, 'usr/bin/xrootd');
      // With its own loader and libraries it runs outside the folder, on the paths of its tests.
      const [loader] = globSync(path.join(root.folder, 'usr/lib/*-linux-gnu/ld-linux-*.so.*'));
      if (existsSync(file) && loader !== undefined) {
        const command = [...unlikeRoot, loader, '--library-path', path.dirname(loader), file];
        return { command, checksums: checksumsOf(command) };
      }
    }
    t.skip(`no newest XRootD here: ${'lacks' in root ? root.lacks : `${root.folder} has none`}`);
    return undefined;
  },
};

/** Another name for root, the only user who may read the folder. */
const unlikeRoot = isRoot ? ['unshare', '--user', '--map-user=1000', '--map-group=1000'] : [];

export interface XrootdServer extends ServerProcess {
  /** Its URL over TLS. */
  url: string;
  /** The same port answers plain http. */
  httpUrl: string;
  /** `host:port` of its own protocol. */
  address: string;
}

interface XrootdOptions {
  xrootd: Xrootd;
  /** A folder for its configuration and state. */
  folder: string;
  /** The folder it publishes, or in which a cache keeps what it fetched. */
  root: string;
  authority: CertificateAuthority;
}

/** Starts XRootD as an origin: a folder over https, with checksums. */
export async function startOrigin(options: XrootdOptions): Promise<XrootdServer> {
  return await start(options, []);
}

/** Starts XRootD as a caching proxy in front of an origin, with the directives of Pelican's caches. */
export async function startCache(options: XrootdOptions, origin: string): Promise<XrootdServer> {
  const lines = [
    'ofs.osslib libXrdPss.so',
    'ofs.ckslib * libXrdPss.so',
    'pss.cachelib libXrdPfc.so',
    `pss.origin ${origin}`,
    'pfc.ram 1g',
    'pfc.blocksize 128k',
    'pfc.prefetch 0',
    'pfc.writequeue 16 4',
    'pfc.diskusage 0.90 0.95 purgeinterval 300s',
  ];
  return await start(options, lines);
}

/** An origin with a caching proxy in front of it. */
export interface XrootdSite {
  /** The folder for all of the site's files, and for more servers of it. */
  own: string;
  /** The folder published as `/demo`. */
  folder: string;
  authority: CertificateAuthority;
  origin: XrootdServer;
  cache: XrootdServer;
  /** A file with the site's authority and another one. */
  trust(caFile: string): Promise<string>;
}

export async function startSite(t: TestContext, xrootd: Xrootd): Promise<XrootdSite> {
  const own = await temporaryFolder(t);
  const published = path.join(own, 'published');
  const folder = path.join(published, 'demo');
  await mkdir(folder, { recursive: true });
  const authority = makeCertificateAuthority('XRootD tests', Date.now());
  const at = (name: string, root: string): XrootdOptions => {
    return { xrootd, authority, folder: path.join(own, name), root };
  };
  const origin = await startOrigin(at('origin', published));
  t.after(() => origin.stop());
  const cache = await startCache(at('cache', path.join(own, 'cached')), origin.address);
  t.after(() => cache.stop());
  const trust = async (caFile: string): Promise<string> => {
    const both = path.join(own, 'both.pem');
    await writeFile(both, authority.certificate + (await readFile(caFile, 'utf8')));
    return both;
  };
  return { own, folder, authority, origin, cache, trust };
}

async function start(options: XrootdOptions, lines: string[]): Promise<XrootdServer> {
  const { folder, root, authority } = options;
  const { command, user, checksums } = options.xrootd;
  const [program = '', ...before] = command;
  await mkdir(root, { recursive: true });
  await mkdir(folder, { recursive: true });
  const at = (name: string): string => path.join(folder, name);
  const { certificate, key } = authority.issue(['127.0.0.1']);
  await writeFile(at('ca.pem'), authority.certificate);
  await writeFile(at('cert.pem'), certificate);
  await writeFile(at('key.pem'), key, { mode: 0o600 });
  if (user !== undefined) {
    await chmod(path.dirname(folder), 0o755);
    for (const each of [folder, root, at('key.pem')]) await chown(each, user.uid, user.gid);
  }
  const [own = 0, http = 0] = await freePorts(2);
  const configuration = [
    'all.role server',
    'all.export /',
    `xrd.port ${own}`,
    `xrd.protocol http:${http} libXrdHttp.so`,
    'xrd.network nodnr',
    `xrd.tls ${at('cert.pem')} ${at('key.pem')}`,
    `xrd.tlsca certfile ${at('ca.pem')}`,
    'http.tlsclientauth off',
    'http.header2cgi Authorization authz',
    `xrootd.chksum max 2 ${checksums}`,
    ...lines,
    `oss.localroot ${root}`,
    `all.adminpath ${folder}`,
    `all.pidpath ${folder}`,
  ];
  await writeFile(at('xrootd.cfg'), `${configuration.join('\n')}\n`);
  const args = [...before, '-c', at('xrootd.cfg'), '-n', path.basename(folder)];
  const running = await startProcess(program, args, {
    ready: /xrootd .*initialization completed/,
    // Not by its own -w, with which XRootD 6 makes all parent folders unreadable for others.
    cwd: folder,
    ...(user !== undefined && { user }),
  });
  const [url, httpUrl] = [`https://127.0.0.1:${http}`, `http://127.0.0.1:${http}`];
  return { ...running, url, httpUrl, address: `127.0.0.1:${own}` };
}
