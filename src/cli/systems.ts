import { Fault } from '../fault/fault.ts';

/** Commands that start or end processes on this machine, which Updraft identifies by Linux's /proc. */
const linuxOnly = ['run', 'submit', 'rehearse', 'retry', 'stop', 'shell', 'demo', 'mini', '_supervise'];

/** Refuses a command that cannot work on this system, before it does anything. Pure. */
export function assertSystem(command: string, platform: NodeJS.Platform): void {
  if (platform === 'win32')
    throw new Fault('pool-unreachable', 'Updraft does not run on Windows itself', {
      fix: 'install WSL (`wsl --install`), and Updraft in it: there everything works as on Linux',
    });
  if (platform === 'linux' || !linuxOnly.includes(command)) return;
  const system = platform === 'darwin' ? 'macOS' : platform;
  throw new Fault('pool-unreachable', `updraft ${command} needs Linux, and this is ${system}`, {
    fix: `log in to an access point with ssh, and run it there; init, check, plan, report, why, bundle, adopt and dashboard work on ${system} too`,
  });
}
