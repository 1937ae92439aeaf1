import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { randomPort } from '@updraft/mini/testing';
import { endWithUs } from '../end-with-us.ts';

export interface ServerProcess {
  pid: number;
  /** Ends it, by its process id, and waits for the end. */
  stop(): Promise<void>;
}

interface StartOptions {
  /** Run as this user, if another one than ours is needed. */
  user?: { uid: number; gid: number };
  /** A line on its stderr that says that it listens. */
  ready: RegExp;
  cwd?: string;
}

/** Starts a server in the foreground and resolves when it says that it is ready. */
export async function startProcess(
  file: string,
  args: string[],
  { user, ready, cwd }: StartOptions,
): Promise<ServerProcess> {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd, ...user });
  const ended = once(child, 'exit');
  const guard = child.pid === undefined ? undefined : endWithUs({ targets: [child.pid] });
  child.once('exit', () => guard?.[Symbol.dispose]());
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-8000);
      if (ready.test(said)) resolve();
    });
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`${file} ended with ${String(code)}:\n${said}`)));
  });
  return {
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM');
      const timeout = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(timeout);
    },
  };
}

/** Ports that are free, outside of the range from which other tests' outgoing connections are taken. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: net.Server[] = [];
  while (servers.length < count) {
    const server = net.createServer();
    const isFree = new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true)).once('error', () => resolve(false));
    });
    server.listen(randomPort(), '127.0.0.1');
    if (await isFree) servers.push(server);
  }
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port);
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  return ports;
}
