import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { succeeds, systemClock } from '@updraft/base';
import { identifyProcess, livenessOf, type ProcessIdentity } from '@updraft/base/processes';
import { enterCommand, enterRootScript, poolUser } from '@updraft/mini/testing';
import { endWithUs } from '../end-with-us.ts';
import { freePorts } from '../servers/server-process.ts';
import { poolRoot } from '../pool.ts';
import { hangMs } from '../hang-limit.ts';

/** A real Slurm of two nodes on this machine, for the tests of one file. */
export interface Cluster {
  /** Folder for the PATH: sbatch, squeue and the others. */
  bin: string;
  /** The cluster's folder, with caches that its tests share. */
  home: string;
}

const nodes = ['n1', 'n2'];
const commands = ['sbatch', 'squeue', 'scontrol', 'scancel', 'sinfo', 'sacct'];
let started: Promise<Cluster | { lacks: string }> | undefined;
/** Clean-up steps, run last to first. */
const endings: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const end of endings.toReversed()) await end();
});

/** Skips the test and returns undefined if this machine cannot have a cluster. */
export async function testCluster(t: TestContext): Promise<Cluster | undefined> {
  started ??= start();
  const cluster = await started;
  if (!('lacks' in cluster)) return cluster;
  t.skip(`cannot start Slurm here: ${cluster.lacks}`);
  return undefined;
}

async function start(): Promise<Cluster | { lacks: string }> {
  const root = await poolRoot();
  if ('lacks' in root) return root;
  // A link whose target exists only inside.
  if (!(await succeeds(lstat(path.join(root.folder, 'usr/sbin/slurmctld')))))
    return { lacks: `${root.folder} has no slurmctld` };
  const home = await mkdtemp(path.join(os.tmpdir(), 'updraft-slurm-'));
  endings.push(() => rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  await writeHome(home);
  const keeper = await startKeeper(root.folder, home);
  const bin = path.join(home, 'bin');
  await untilUp(bin, home, keeper);
  return { bin, home };
}

/** All daemons run as one ordinary user, who can then run jobs only as himself. */
async function writeHome(home: string): Promise<void> {
  for (const folder of ['log', 'state', 'bin', ...nodes.map((node) => `spool/${node}`)])
    await mkdir(path.join(home, folder), { recursive: true });
  await writeFile(path.join(home, 'slurm.key'), randomBytes(1024), { mode: 0o600 });
  await writeFile(path.join(home, 'cgroup.conf'), 'CgroupPlugin=disabled\n');
  await writeFile(path.join(home, 'slurm.conf'), slurmConf(await freePorts(1 + nodes.length)));
  const daemons = ['slurmctld -D -c', ...nodes.map((node) => `slurmd -D -N ${node}`)];
  // One that cannot begin, because another program has its port for a moment, is started again.
  const again = (daemon: string): string => `while :; do ${daemon}; sleep 1; done`;
  const starting = daemons.map((daemon, index) => `${again(daemon)} >> /pool/log/${index}.out 2>&1 &\n`);
  await writeProgram(path.join(home, 'start.sh'), `#!/bin/sh\n${starting.join('')}wait\n`);
  await writeProgram(path.join(home, 'enter-root.sh'), enterRootScript);
}

async function writeProgram(file: string, text: string): Promise<void> {
  await writeFile(file, text);
  await chmod(file, 0o755);
}

function slurmConf([port = 0, ...nodePorts]: number[]): string {
  const user = poolUser.name;
  return [
    'ClusterName=test',
    'SlurmctldHost=localhost(127.0.0.1)',
    `SlurmUser=${user}`,
    `SlurmdUser=${user}`,
    'AuthType=auth/slurm',
    'CredType=auth/slurm',
    'AuthInfo=use_client_ids',
    `SlurmctldPort=${port}`,
    'StateSaveLocation=/pool/state',
    'SlurmdSpoolDir=/pool/spool/%n',
    'SlurmctldPidFile=/pool/slurmctld.pid',
    'SlurmdPidFile=/pool/slurmd.%n.pid',
    'ProctrackType=proctrack/linuxproc',
    'TaskPlugin=task/none',
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_CPU_Memory',
    'SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0',
    // As on clusters that watch memory without cgroups: a job that uses too much is killed completely.
    'JobAcctGatherType=jobacct_gather/linux',
    'JobAcctGatherFrequency=1',
    'JobAcctGatherParams=OverMemoryKill',
    'ReturnToService=2',
    // The nodes share one machine, which has fewer CPUs than they claim.
    'SlurmdParameters=config_overrides',
    ...nodes.map(
      (node, index) =>
        `NodeName=${node} NodeHostname=localhost NodeAddr=127.0.0.1 Port=${nodePorts[index] ?? 0} CPUs=8 RealMemory=8000 State=UNKNOWN`,
    ),
    `PartitionName=main Nodes=${nodes.join(',')} Default=YES MaxTime=60 State=UP`,
    'PartitionName=long Nodes=n1 MaxTime=INFINITE State=UP',
    '',
  ].join('\n');
}

/** The process whose only child is the cluster's first process: when that one ends, all end. */
async function startKeeper(root: string, home: string): Promise<ProcessIdentity> {
  const log = openSync(path.join(home, 'log/start.log'), 'w');
  const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child'];
  const enter = ['/bin/sh', path.join(home, 'enter-root.sh'), root, home, '/pool/start.sh'];
  const child = spawn('unshare', [...namespaces, ...enter], {
    stdio: ['ignore', log, log],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/tmp', LC_ALL: 'C.UTF-8', ...slurmEnvironment },
  });
  closeSync(log);
  await once(child, 'spawn');
  const keeper = identifyProcess(child.pid ?? 0);
  if (keeper === undefined) throw new Error(`Slurm did not start (see ${home}/log)`);
  const guard = endWithUs({ targets: [keeper.pid], folders: [home] });
  endings.unshift(() => guard[Symbol.dispose]());
  endings.push(async () => {
    const first = await childOf(keeper.pid);
    if (first !== undefined) process.kill(first, 'SIGKILL');
    while (livenessOf(keeper) === 'alive') await systemClock.sleep(20);
  });
  return keeper;
}

const slurmEnvironment = { SLURM_CONF: '/pool/slurm.conf', SLURM_SACK_KEY: '/pool/slurm.key' };

async function childOf(keeper: number): Promise<number | undefined> {
  const children = await readFile(`/proc/${keeper}/task/${keeper}/children`, 'utf8').catch(() => '');
  const child = Number.parseInt(children, 10);
  return Number.isNaN(child) ? undefined : child;
}

/** Links Slurm's commands to one script that enters the cluster's namespaces with the caller's environment. */
async function writeTools(bin: string, keeper: number, first: number): Promise<void> {
  const settings = Object.entries(slurmEnvironment).map(([name, value]) => `${name}=${value}`);
  const inside = [
    '#!/bin/sh',
    `exec ${enterCommand({ keeper, master: first }).join(' ')} \\`,
    `  env PATH=/usr/sbin:/usr/bin ${settings.join(' ')} \\`,
    `  sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "\${0##*/}" "$@"`,
    '',
  ];
  await writeProgram(path.join(bin, '.enter'), inside.join('\n'));
  for (const command of commands) await symlink('.enter', path.join(bin, command));
}

async function untilUp(bin: string, home: string, keeper: ProcessIdentity): Promise<void> {
  const deadline = systemClock.monotonic() + hangMs;
  let said = '';
  let hasTools = false;
  for (;;) {
    const first = await childOf(keeper.pid);
    const name = await readFile(`/proc/${first ?? 0}/comm`, 'utf8').catch(() => '');
    // Before, it is still the script that changes the root.
    if (first !== undefined && name.trim() === 'start.sh' && !hasTools) {
      await writeTools(bin, keeper.pid, first);
      hasTools = true;
    }
    if (hasTools)
      said = await promisify(execFile)(path.join(bin, 'sinfo'), ['-h', '-N', '-p', 'main', '-o', '%t']).then(
        ({ stdout }) => stdout,
        (error: unknown) => String(error),
      );
    if (said === 'idle\n'.repeat(nodes.length)) return;
    if (systemClock.monotonic() > deadline || livenessOf(keeper) !== 'alive')
      throw new Error(`Slurm did not start (see ${home}/log): ${said}`);
    await systemClock.sleep(100);
  }
}
