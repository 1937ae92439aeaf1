import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Certificate } from '@updraft/mini/testing';
import { freePorts, startProcess, type ServerProcess } from './server-process.ts';

export interface NginxOptions {
  /** The folder for its own files. */
  folder: string;
  /** The folder it serves. */
  root: string;
  tls?: Certificate;
  /**
   * One more http server per entry, at 127.0.0.1, 127.0.0.2 and so on, with this rate in bytes per second and request.
   * Like a cache, it sends `Age` to show that it has the object.
   */
  limits?: number[];
}

export interface Nginx extends ServerProcess {
  /** Base URL, without a trailing slash; https if there is a certificate. */
  url: string;
  httpUrl: string;
  limitedUrls: string[];
}

/** Starts nginx as one process that serves a folder over loopback. */
export async function startNginx(file: string, options: NginxOptions): Promise<Nginx> {
  const { folder, root, tls, limits = [] } = options;
  const [plain = 0, secure = 0, ...others] = await freePorts(2 + limits.length);
  const servers = [serverBlock(`127.0.0.1:${plain}`, root)];
  if (tls !== undefined) {
    await writeFile(path.join(folder, 'cert.pem'), tls.certificate);
    await writeFile(path.join(folder, 'key.pem'), tls.key, { mode: 0o600 });
    const certificate = `ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem;`;
    servers.push(serverBlock(`127.0.0.1:${secure} ssl`, root, certificate));
  }
  const limited = limits.map((rate, index) => ({ rate, address: `127.0.0.${index + 1}:${others[index]}` }));
  for (const { rate, address } of limited)
    servers.push(serverBlock(address, root, `limit_rate ${rate}; add_header Age 3600;`));
  const configuration = path.join(folder, 'nginx.conf');
  await writeFile(configuration, configurationOf(folder, servers));
  const running = await startProcess(file, ['-p', folder, '-c', configuration, '-e', 'stderr'], {
    ready: /getrlimit/,
  });
  const httpUrl = `http://127.0.0.1:${plain}`;
  return {
    ...running,
    httpUrl,
    url: tls === undefined ? httpUrl : `https://127.0.0.1:${secure}`,
    limitedUrls: limited.map(({ address }) => `http://${address}`),
  };
}

function serverBlock(listen: string, root: string, more = ''): string {
  return `server { listen ${listen}; root ${root}; ${more} }`;
}

function configurationOf(folder: string, servers: string[]): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return [
    'daemon off; master_process off; worker_processes 1;',
    `pid ${folder}/nginx.pid; error_log stderr notice;`,
    'events { worker_connections 256; }',
    'http { access_log off; sendfile on; tcp_nopush on; default_type application/octet-stream;',
    ...temporary.map((name) => `${name}_temp_path ${folder}/${name};`),
    ...servers,
    '}',
  ].join('\n');
}
