import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deathFault, exitCodeOf } from './death.ts';
import type { CommandEnd, DiskSpace, ExitReadings, MemoryReadings } from './command-end.ts';
import { cgroupFolders, MemoryWatch } from './memory-watch.ts';

const GB = 1e9;
const calm: MemoryReadings = {
  peakBytes: GB,
  availableBytes: 20 * GB,
  totalBytes: 32 * GB,
  cgroupKills: 0,
  machineKills: 0,
};
const room = (freeBytes: number, folder = '/scratch') => ({ folder, freeBytes });

/** The fault's kind, exit code and message for a training that requested 4 GB. */
function death(
  ended: CommandEnd,
  line = '',
  seen: Partial<MemoryReadings> = {},
  disks: DiskSpace[] = [room(GB)],
) {
  const evidence: ExitReadings = { memory: { ...calm, ...seen }, disks };
  const fault = deathFault(
    ended,
    line === '' ? [] : ['Traceback (most recent call last):', line],
    { memoryBytes: 4 * GB },
    evidence,
  );
  return { kind: fault?.kind, exit: fault && exitCodeOf(fault, ended), said: fault?.message ?? '' };
}

const killed = { status: null, signal: 'SIGKILL' } as const;
const failed = { status: 1 };

test('a training killed for its own memory needs more; one killed because of others goes elsewhere', () => {
  const byCgroup = death(killed, '', { cgroupKills: 1, limitBytes: 4 * GB });
  assert.deepEqual([byCgroup.kind, byCgroup.exit], ['memory-exceeded', 86]);
  assert.match(byCgroup.said, /cgroup \(limit 4 GB\).*used 1 GB of 4 GB; the machine had 20 GB left/);
  assert.equal(death({ status: 137 }, '', { peakBytes: 3.9 * GB }).kind, 'memory-exceeded');
  const others = death(killed, '', { machineKills: 1, availableBytes: 0.2 * GB });
  assert.deepEqual([others.kind, others.exit], ['training-killed', 87]);
  assert.match(others.said, /the machine ran out of memory/);
  const logged = death(killed, '', {
    kernelSaid: 'Out of memory: Killed process 7 (python3)',
    peakBytes: 5 * GB,
  });
  assert.match(logged.said, /Killed process 7/);
  assert.equal(logged.kind, 'memory-exceeded');
  assert.equal(
    death(killed, '', { machineKills: 1 }).kind,
    'training-killed',
    "another job's cgroup was out of memory",
  );
});

test('an unexplained kill is reported as such, with the figures', () => {
  for (const ended of [killed, { status: 137 }]) {
    const { kind, said } = death(ended, 'epoch 3');
    assert.equal(kind, 'training-killed');
    assert.match(said, /apparently not for memory .*1 GB of 4 GB.*its last line: epoch 3/);
  }
  assert.match(death({ status: 143 }).said, /killed by SIGTERM, which neither/);
  assert.equal(death({ status: 139 }).kind, undefined, "a crash is the program's own");
});

test('a full disk, quota or shared memory is found by the output and by the figures', () => {
  for (const line of [
    'OSError: [Errno 28] No space left on device',
    'OSError: [Errno 122] Disk quota exceeded',
  ])
    assert.deepEqual([death(failed, line).kind, death(failed, line).exit], ['disk-full', 107]);
  const mute = death(failed, '', {}, [room(GB), room(4096, '/run')]);
  assert.match(mute.said, /filled the disk of \/run \(1 GB left in \/scratch, .*left in \/run\)/);
  assert.equal(
    death({ status: null, signal: 'SIGBUS' }, '', {}, [room(0, '/dev/shm')]).kind,
    'self-test-failed',
  );
  const loader =
    'RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that …';
  assert.equal(death(failed, loader).kind, 'self-test-failed');
});

test("an error that hides a full disk is the disk if one was full while it ran, unless it is the program's own", () => {
  const torch = 'RuntimeError: [enforce fail at inline_container.cc:424] . unexpected pos 192 vs 94';
  const wasFull = [{ ...room(GB), lowestBytes: 0 }];
  const found = death(failed, torch, {}, wasFull);
  assert.deepEqual([found.kind, found.exit], ['disk-full', 107]);
  assert.match(
    found.said,
    /was full during the training \(1 GB left in \/scratch, 0 B at the lowest\): Runtime/,
  );
  assert.equal(death(failed, torch).kind, undefined, 'with room it may be anything');
  const own = 'ValueError: no such layer';
  assert.equal(death(failed, own, {}, wasFull).kind, undefined);
  const home = [room(GB), { ...room(GB, '/home/u'), isRefused: true, isHome: true as const }];
  assert.match(death(failed, torch, {}, home).said, /\/home\/u is full \(.*no more files or bytes/);
  assert.equal(death(failed, own, {}, home).kind, undefined);
});

test('a file-size limit is found by the signal and by the output', () => {
  for (const ended of [{ status: 153 }, { status: null, signal: 'SIGXFSZ' } as const])
    assert.equal(death(ended).kind, 'disk-full');
  assert.match(death(failed, 'OSError: [Errno 27] File too large').said, /file-size limit .*: OSError/);
});

test('out-of-memory messages of GPU and machine are recognized', () => {
  const cuda =
    'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.77 GiB';
  assert.deepEqual([death(failed, cuda).kind, death(failed, cuda).exit], ['gpu-memory', 88]);
  for (const line of [
    'MemoryError',
    "RuntimeError: [enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 40 bytes",
    'numpy._core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB for an array',
    'OSError: [Errno 12] Cannot allocate memory',
  ])
    assert.equal(death(failed, line).kind, 'memory-exceeded', line);
  const worker = 'RuntimeError: DataLoader worker (pid(s) 71, 72) exited unexpectedly';
  assert.equal(death(failed, worker, { cgroupKills: 2 }).kind, 'memory-exceeded');
  assert.equal(death(failed, 'ValueError: no classes').kind, undefined);
});

test('errors that a program survived, and code quoted in a traceback, are not the cause', () => {
  const kindOf = (...lines: string[]) =>
    deathFault(failed, lines, { memoryBytes: GB }, { memory: calm, disks: [] })?.kind;
  const trace = (code: string) => [
    'Traceback (most recent call last):',
    'File "train.py", line 7, in step',
    code,
  ];
  const bug = 'ValueError: shapes do not match';
  for (const warning of [
    'CUDA out of memory: smaller batch',
    'cache: [Errno 28] No space left',
    'MemoryError, no preload',
  ])
    assert.equal(kindOf(warning, 'step 3', ...trace('step()'), bug), undefined, warning);
  assert.equal(kindOf(...trace('except MemoryError: fit("CUDA out of memory")'), bug), undefined);
  assert.equal(
    kindOf(...trace('step()'), 'MemoryError', ...trace('log(x)'), "NameError: name 'x'"),
    'memory-exceeded',
  );
  assert.equal(kindOf('MemoryError: preload', ...trace('log(x)'), bug), 'memory-exceeded');
  assert.equal(
    kindOf('File "<string>", line 1, in <module>', 'MemoryError'),
    'memory-exceeded',
    'no code to quote',
  );
  const tar = 'tar: a: Cannot write: No space left on device';
  assert.equal(kindOf(tar, ...trace('run(tar)'), 'subprocess.CalledProcessError: status 2'), 'disk-full');
  const cuda = '[rank1]: torch.OutOfMemoryError: CUDA out of memory.';
  assert.equal(kindOf('[rank1]:   File "t.py", line 3', '[rank1]:     x()', cuda), 'gpu-memory');
});

/** Files of a machine at one moment. */
function machine(at: { kills?: number; cgroup?: number; resident?: number; version?: 1 | 2 }) {
  const { kills = 0, cgroup = 0, resident = 0, version = 2 } = at;
  const folder = version === 2 ? '/sys/fs/cgroup/job' : '/sys/fs/cgroup/memory/job';
  const files: Record<string, string> = {
    '/proc/self/cgroup': version === 2 ? '0::/job\n' : '4:memory:/job\n0::/\n',
    '/proc/vmstat': `pgfault 7\noom_kill ${kills}\n`,
    '/proc/meminfo': 'MemTotal: 1000 kB\nMemAvailable: 400 kB\n',
    [`${folder}/${version === 2 ? 'memory.events' : 'memory.oom_control'}`]: `oom 9\noom_kill ${cgroup}\n`,
    [`${folder}/${version === 2 ? 'memory.max' : 'memory.limit_in_bytes'}`]: '512000\n',
    [`${path(folder)}/memory.limit_in_bytes`]: '9223372036854771712\n',
    '/proc/7/statm': `99 ${resident / 2} 1\n`,
    '/proc/7/task/7/children': '8 ',
    '/proc/8/statm': `99 ${resident / 2} 1\n`,
  };
  return files;
}
const path = (folder: string): string => folder.replace(/\/[^/]+$/, '');

test('the watch keeps the peak, and counts kills in its own cgroup and recent ones on the machine', () => {
  for (const version of [1, 2] as const) {
    let files = machine({ version, kills: 2, cgroup: 5 });
    let now = 0;
    const watch = new MemoryWatch({
      read: (file) => files[file] ?? '',
      kernelLines: () => [
        'Memory cgroup out of memory: Killed process 8 (python3)',
        'Memory cgroup out of memory: Killed process 99 (somebody)',
      ],

      uptime: () => now,
    });
    const step = (seconds: number, at: Parameters<typeof machine>[0]): void => {
      now += seconds;
      files = machine({ version, ...at });
    };
    step(1, { resident: 100, kills: 4, cgroup: 5 });
    watch.poll(7);
    step(60, { resident: 60, kills: 4, cgroup: 5 });
    watch.poll(7);
    step(1, { kills: 5, cgroup: 6 });
    const found = watch.readings();
    assert.deepEqual(found, {
      peakBytes: 100 * 4096,
      availableBytes: 400 * 1024,
      totalBytes: 1000 * 1024,
      limitBytes: 512_000,
      cgroupKills: 1,
      machineKills: 1,
      kernelSaid: 'Memory cgroup out of memory: Killed process 8 (python3)',
    });
  }
});

test('cgroups of either version are found', () => {
  assert.deepEqual(cgroupFolders('0::/a/b\n'), ['/sys/fs/cgroup/a/b', '/sys/fs/cgroup/a', '/sys/fs/cgroup']);
  assert.deepEqual(cgroupFolders('5:cpu:/\n4:hugetlb,memory:/x\n0::/\n'), [
    '/sys/fs/cgroup/memory/x',
    '/sys/fs/cgroup/memory',
  ]);
  assert.deepEqual(cgroupFolders(''), []);
});
