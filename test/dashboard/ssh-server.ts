import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { enterRootScript } from '../../src/mini/pool/namespaces.ts';
import { poolUser } from '../../src/mini/pool/root-folder.ts';
import { poolRoot } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A real OpenSSH on loopback: `ssh` with a test configuration, and Debian's `sshd`. */
export interface SshServer {
  /** With a PATH on which `ssh ap.example` comes here. */
  env: { PATH: string };
  /** The number of connections so far. */
  connections: () => number;
  /** Cuts every connection, as a network does. */
  cut: () => void;
  /** Accepts connections, or closes them immediately. */
  answer: (willing: boolean) => void;
}

/** Undefined, with the test skipped, without `sshd`. */
export async function sshServer(t: TestContext): Promise<SshServer | undefined> {
  const root = await poolRoot();
  if ('lacks' in root || spawnSync('ssh', ['-V']).status !== 0) {
    t.skip(
      `no OpenSSH: ${'lacks' in root ? `sshd comes with the pool's root folder, and ${root.lacks}` : 'no ssh on the PATH'}`,
    );
    return undefined;
  }
  const folder = await temporaryFolder(t);
  const command = await sshdCommand(folder, root.folder);
  const sockets = new Set<Socket>();
  let [connections, willing] = [0, true];
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    if (!willing) socket.destroy();
    else serve(socket, command, sockets);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  const env = await clientEnv(folder, (server.address() as AddressInfo).port);
  return {
    env,
    cut,
    connections: () => connections,
    answer: (next) => {
      willing = next;
    },
  };
}

/** One `sshd` per connection, as inetd starts it, so that no fixed port is needed. */
function serve(socket: Socket, [program = '', ...words]: string[], sockets: Set<Socket>): void {
  sockets.add(socket);
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => undefined);
  socket.pipe(child.stdin);
  child.stdout.pipe(socket);
  socket.on('close', () => {
    sockets.delete(socket);
    child.stdin.end();
  });
  child.on('exit', () => socket.destroy());
}

async function sshdCommand(folder: string, root: string): Promise<string[]> {
  const [enter, home, config] = ['enter.sh', 'home', 'sshd_config'].map((name) => path.join(folder, name));
  await mkdir(home ?? '');
  await writeFile(enter ?? '', enterRootScript);
  for (const name of ['host', 'user'])
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path.join(folder, name)]);
  await writeFile(
    config ?? '',
    [
      `HostKey ${folder}/host`,
      `AuthorizedKeysFile ${folder}/user.pub`,
      'PasswordAuthentication no',
      'StrictModes no',
      'UsePAM no',
      'PidFile none',
      '',
    ].join('\n'),
  );
  const inside = ['unshare', '--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child'];
  return [...inside, 'sh', enter ?? '', root, home ?? '', '/usr/sbin/sshd', '-i', '-f', config ?? ''];
}

/** `ssh` with a host in its configuration, as a user has it. */
async function clientEnv(folder: string, port: number): Promise<{ PATH: string }> {
  const config = path.join(folder, 'ssh_config');
  await writeFile(
    config,
    [
      'Host ap.example',
      '  HostName 127.0.0.1',
      `  Port ${port}`,
      `  User ${poolUser.name}`,
      `  IdentityFile ${folder}/user`,
      '  IdentitiesOnly yes',
      '  StrictHostKeyChecking no',
      '  UserKnownHostsFile /dev/null',
      '  LogLevel ERROR',
      '',
    ].join('\n'),
  );
  const bin = path.join(folder, 'bin');
  await mkdir(bin);
  await writeFile(path.join(bin, 'ssh'), `#!/bin/sh\nexec /usr/bin/ssh -F ${config} "$@"\n`);
  await chmod(path.join(bin, 'ssh'), 0o755);
  return { PATH: `${bin}:/usr/bin:/bin` };
}
