import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { sha256Of } from '@updraft/base/disk';
import { startFederation } from '@updraft/mini/federation';
import packageJson from '../../package.json' with { type: 'json' };
import { findAgent, packAgent } from '../../src/pool/find-agent.ts';
import { markdownTable } from '../markdown-table.ts';
import { cacheFolder, openPool } from '../osg/replay-pool.ts';
import { condor, type Setting } from '../osg/replay.ts';
import { submit, untilOver } from '../osg/updraft-leg.ts';

/** `node bench/agent-bytes/run.ts`: what the access point sends for short jobs on three machines, by `agent` in [pool]. */
const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '50' },
    only: { type: 'string', multiple: true, default: ['each', 'common', 'url'] },
  },
});
const jobs = Number(values.jobs);
const say = (line: string): void => console.error(line);
const signal = AbortSignal.timeout(40 * 60_000);
await mkdir(cacheFolder, { recursive: true });
const folder = await mkdtemp(path.join(cacheFolder, 'agent-bytes-'));
const sites = ['one', 'two', 'three'].map((name) => {
  return { name, hostname: `${name}.example`, cpus: 4, memoryMegabytes: 2048 };
});

try {
  const self = [process.execPath, path.resolve(import.meta.dirname, '../../src/cli/main.ts')];
  const packed = await packAgent(await findAgent({ env: process.env, self }), process.env);
  const name = `updraft-agent-${packageJson.version}-linux-${os.arch()}-${await sha256Of(packed)}.gz`;
  const published = path.join(folder, 'published');
  await mkdir(published);
  await copyFile(packed, path.join(published, name));
  const agents: Record<string, (cache: string) => string> = {
    each: () => '',
    common: () => '[pool]\nagent = "common"',
    url: (cache) => `[pool]\nagent = "${cache}/agents/${name}"`,
  };
  const rows: string[][] = [];
  for (const way of values.only) {
    await using pool = await openPool(path.join(folder, `pool-${way}`), 1, say, signal, sites);
    await using federation = await startFederation({
      namespaces: [{ prefix: '/agents', folder: published, public: true }],
      caches: 1,
    });
    const project = path.join(folder, way);
    await mkdir(project);
    await writeFile(
      path.join(project, 'updraft.toml'),
      jobFile(agents[way]?.(federation.caches[0]?.httpUrl ?? '')),
    );
    const run = await submit({ pool: pool.state, agentFor: undefined }, { folder: project, federation });
    const { tally } = await untilOver(run, jobs, signal);
    const asked = ['-constraint', 'true', '-af', 'TransferInputStats.CedarSizeBytesTotal'];
    const each = (await condor({ pool: pool.state } as Setting, 'condor_history', ...asked))
      .trim()
      .split('\n');
    const log = await readFile(path.join(run, 'events.log'), 'utf8');
    const sendings = log.match(/^047 .*TransferStarted/gm)?.length ?? 0;
    const bytes = each.reduce((sum, one) => sum + Number(one), 0);
    rows.push([way, String(tally.success), `${(bytes / 1e6).toFixed(2)} MB`, String(sendings)]);
    say(rows.at(-1)?.join('  ') ?? '');
  }
  console.log(markdownTable(['agent', 'succeeded', 'sent to attempts', 'sent once to a machine'], rows));
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

function jobFile(pool = ''): string {
  return `name = "light"
[train]
command = "echo trained > out.txt"
outputs = ["out.txt"]
[resources]
memory = "400 MB"
disk = "300 MB"
[run]
pool = "condor"
jobs = ${jobs}
${pool}
`;
}
