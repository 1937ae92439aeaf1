import os from 'node:os';
import { agentExits, Fault, kinds } from '@updraft/account/fault';
import type { Outcome } from '@updraft/account/journal';
import { formatSize } from '@updraft/base';
import { lastSaid, raisedAt } from '@updraft/base/training';
import type { CommandEnd, DiskSpace, ExitReadings, MemoryReadings } from './command-end.ts';
import { describeSpace, type DiskWatch, hasBeenFull, isFullNow, sharedMemory } from './disk-watch.ts';
import { machineOutOfMemory } from './memory-watch.ts';
import { checkpointExit } from './shell.ts';

/** The memory that a training requested, in bytes. */
export interface RequestedMemory {
  memoryBytes: number;
}

const patterns = {
  gpu: /(?:CUDA|HIP) out of memory|CUDA error: out of memory|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED/i,
  shared:
    /bus error|insufficient shared memory|unable to (?:write to|open|mmap|resize).*(?:\/torch_|shared memory)/i,
  disk: /No space left on device|Disk quota exceeded|\bErrno (?:28|122)\b|\bENOSPC\b|\bEDQUOT\b/,
  /** PyTorch and NumPy do not pass on why a write failed. */
  write: /PytorchStreamWriter failed writing|unexpected pos \d+ vs \d+|\d+ requested and \d+ written/,
  fileSize: /\[Errno 27\]|\bEFBIG\b|: File too large$|File size limit exceeded/,
  memory:
    /\bMemoryError\b|(?:cannot|can't) allocate memory|\bErrno 12\b|std::bad_alloc|Unable to allocate [\d.]+ [KMGT]iB/i,
  killed:
    /\(SIGKILL\) received|worker \(pid\(?s?\)? [\d, ]+\) (?:is killed by signal: Killed|exited unexpectedly)/,
};

/** Signals that come from outside; others, like SIGSEGV, are the program's own. */
const externalSignals = new Map([
  [9, 'SIGKILL'],
  [15, 'SIGTERM'],
  [1, 'SIGHUP'],
  [2, 'SIGINT'],
]);

/** The signal from outside that ended a training, as far as its shell reports it. */
function killedBy({ status, signal }: CommandEnd, lines: readonly string[]): string | undefined {
  if (signal !== undefined) return [...externalSignals.values()].find((name) => name === signal);
  return (
    externalSignals.get((status ?? 0) - 128) ?? (lines.some(has(patterns.killed)) ? 'SIGKILL' : undefined)
  );
}

const has = (pattern: RegExp) => (line: string) => pattern.test(line);

const frame = /^File ".*", line \d+/;
const traceback = /^(?:Traceback \(most recent call last\)|File ".*", line \d+)/;
const exceptionLine = /^[\w.]*(?:Error|Exception)(?::|$)/;
/** Exceptions that only the program itself can cause. */
const ownErrors =
  'Assertion|Attribute|Import|Index|Key|ModuleNotFound|Name|Type|UnboundLocal|Value|ZeroDivision';
const programError = new RegExp(`^(?:${ownErrors})Error(?::|$)`);

/**
 * The lines that may say what a training died of. Code quoted in a traceback says nothing, and a program that ended
 * with an error of its own had survived whatever it reported before.
 */
function relevantLines(lines: readonly string[]): { clues: string[]; isProgramError: boolean } {
  const begin = lines.findIndex(has(traceback));
  const last = lines.findLast(has(exceptionLine));
  const isProgramError = begin !== -1 && last !== undefined && programError.test(last);
  const clues = lines.filter((line, index) => {
    const isQuoted = frame.test(lines[index - 1] ?? '');
    return exceptionLine.test(line) || (!isQuoted && (!isProgramError || index >= begin));
  });
  return { clues, isProgramError };
}

/**
 * What a training died of that is not an error in its program: memory, disk, GPU memory, or a signal from outside;
 * undefined if nothing points to that. `lines` are its last ones; a program's own words count as much as the figures.
 */
export function deathFault(
  ended: CommandEnd,
  lines: readonly string[],
  asked: RequestedMemory,
  { memory, disks }: ExitReadings,
): Fault | undefined {
  const { clues, isProgramError } = relevantLines(lines);
  const line = (pattern: RegExp): string | undefined => clues.findLast(has(pattern));
  const said = (text: string | undefined): string => (text === undefined ? '' : `: ${text}`);
  const gpu = line(patterns.gpu);
  if (gpu !== undefined) return new Fault('gpu-memory', `the training ran out of GPU memory: ${gpu}`);
  const full = disks.filter(isFullNow);
  const isBus = ended.signal === 'SIGBUS' || ended.status === 135;
  const shared = line(patterns.shared);
  if (shared !== undefined || (isBus && full.some(({ folder }) => folder === sharedMemory)))
    return outOfSharedMemory(disks, said(shared));
  const disk = line(patterns.disk);
  const filled = full.find(({ folder, isHome }) => folder !== sharedMemory && !isHome);
  if (disk !== undefined || filled !== undefined) return outOfDisk(disks, filled, disk ?? lines.at(-1));
  const tooLarge = line(patterns.fileSize);
  if (tooLarge !== undefined || ended.signal === 'SIGXFSZ' || ended.status === 128 + 25)
    return fileTooLarge(said(tooLarge));
  const signal = killedBy(ended, clues);
  if (signal === 'SIGKILL') return killFault(memory, asked, said(lines.at(-1)));
  if (signal !== undefined)
    return killed(
      `the training was killed by ${signal}, which neither the agent nor the pool sent`,
      lines.at(-1),
    );
  const short = line(patterns.memory);
  if (short !== undefined) return outOfMemory(`could not allocate memory${usage(memory, asked)}: ${short}`);
  const before = isProgramError ? undefined : fullDisk(disks);
  return before && outOfDisk(disks, before, lines.at(-1), 'the training failed');
}

/** A result that is missing, empty or not valid is the disk's fault if one was full, or the training said so. */
export function orFullDisk(fault: Fault, lines: readonly string[], watch: DiskWatch): Fault {
  const disks = watch.readings();
  const line = lines.findLast(has(patterns.disk));
  const full = fullDisk(disks);
  if (line === undefined && full === undefined) return fault;
  return outOfDisk(disks, full, line, fault.message);
}

/** An output is probably cut short if the training says that a write failed, and the scratch disk is full. */
export function cutShort(lines: readonly string[], watch: DiskWatch): Fault | undefined {
  const line = lines.findLast((one) => patterns.disk.test(one) || patterns.write.test(one));
  const disks = line === undefined ? [] : watch.readings();
  const [scratch] = disks;
  if (scratch === undefined || !isFullNow(scratch)) return undefined;
  return outOfDisk(disks, scratch, line, 'the outputs may be cut short');
}

const fullDisk = (disks: readonly DiskSpace[]): DiskSpace | undefined =>
  [isFullNow, hasBeenFull]
    .map((test) => disks.find((disk) => disk.folder !== sharedMemory && test(disk)))
    .find((disk) => disk !== undefined);

const fileTooLarge = (said: string): Fault =>
  new Fault('disk-full', `the training reached the file-size limit of the machine (\`ulimit -f\`)${said}`, {
    fix: 'raise the limit, write smaller files, or run on another machine',
  });

/** The kernel kills with SIGKILL, and so does whoever watches the machine. */
function killFault(memory: MemoryReadings, asked: RequestedMemory, said: string): Fault {
  const { cgroupKills, machineKills, kernelSaid, peakBytes, limitBytes, availableBytes = Infinity } = memory;
  const figures = usage(memory, asked);
  const limit = limitBytes === undefined ? '' : ` (limit ${formatSize(limitBytes)})`;
  const byCgroup = kernelSaid !== undefined && !machineOutOfMemory.test(kernelSaid);
  if (cgroupKills > 0 || byCgroup)
    return outOfMemory(
      `was killed by the kernel, because its cgroup${limit} had no memory left${figures}${said}`,
    );
  const tookAll = peakBytes >= asked.memoryBytes * nearRequestShare;
  const kernel = kernelSaid === undefined ? '' : ` (“${kernelSaid.trim().slice(0, 160)}”)`;
  const share = machineKills > 0 ? nearlyOutShare * 3 : nearlyOutShare;
  const isOut = kernelSaid !== undefined || availableBytes < memory.totalBytes * share;
  if (tookAll)
    return outOfMemory(`was killed after it had used all the memory it requested${figures}${kernel}${said}`);
  if (isOut)
    return killed(
      'the training was killed when the machine ran out of memory, ' +
        `although it had stayed within its request${figures}${kernel}`,
      said.slice(2),
    );
  return killed(`the training was killed (SIGKILL), apparently not for memory${figures}`, said.slice(2));
}

/** Of the request: memory is sampled twice a second, and may have grown since. */
const nearRequestShare = 0.9;
/** Of the machine's memory; a kill nearby, maybe of another cgroup, makes more of it suspect. */
const nearlyOutShare = 0.03;

function usage({ peakBytes, availableBytes }: MemoryReadings, { memoryBytes }: RequestedMemory): string {
  const left = availableBytes === undefined ? '' : `; the machine had ${formatSize(availableBytes)} left`;
  const took = peakBytes === 0 ? 'it requested' : `it used ${formatSize(peakBytes)} of`;
  return ` (${took} ${formatSize(memoryBytes)}${left})`;
}

const outOfMemory = (what: string): Fault => new Fault('memory-exceeded', `the training ${what}`);

const killed = (what: string, line = ''): Fault =>
  new Fault('training-killed', `${what}${line === '' ? '' : `; its last line: ${line}`}`);

/** Without a full disk only the training's own words count. `what`: what became of it, if that needs to be said. */
function outOfDisk(
  disks: readonly DiskSpace[],
  full: DiskSpace | undefined,
  said: string | undefined,
  what?: string,
): Fault {
  const { folder = '', isShared, isHome } = full ?? {};
  const state = full && isFullNow(full) ? 'is full' : 'was full during the training';
  const disk =
    what === undefined ? `the training filled the disk of ${folder}` : `the disk of ${folder} ${state}`;
  const found = full === undefined ? 'the training reported a full disk' : disk;
  const line = said === undefined ? '' : `: ${said}`;
  const message = `${what === undefined ? '' : `${what}, and `}${found} (${describeSpace(disks)})${line}`;
  // More disk for the job does not help a folder elsewhere.
  return new Fault(isShared ? 'run-folder-full' : 'disk-full', message, {
    ...(folder !== '' && { about: folder }),
    ...(isHome && {
      fix: `free space or quota in ${folder}, or keep the training from writing there, then \`updraft retry\``,
    }),
  });
}

const outOfSharedMemory = (rooms: readonly DiskSpace[], said: string): Fault => {
  const left = rooms.find(({ folder }) => folder === sharedMemory)?.freeBytes;
  const free = left === undefined ? '' : ` (${formatSize(left)} left)`;
  return new Fault(
    'self-test-failed',
    `the machine's shared memory, ${sharedMemory}, is too small${free}${said}`,
    {
      fix: "run on another machine, or set `num_workers=0`: PyTorch's data loaders need none then",
      about: sharedMemory,
    },
  );
};

/** The agent's exit code: 0 for a valid result, the training's own if it failed, otherwise that of the fault. */
export function exitCodeOf(fault: Fault | undefined, ended: CommandEnd | undefined): number {
  if (fault === undefined) return 0;
  return fault.kind === 'training-failed' && ended !== undefined
    ? commandExit(ended)
    : kinds[fault.kind].exit;
}

function commandExit({ status, signal }: CommandEnd): number {
  if (status === null) return 128 + (signal === undefined ? 0 : os.constants.signals[signal]);
  return status >= agentExits.from && status <= agentExits.to ? kinds['training-failed'].exit : status;
}

export function outcomeOf(fault: Fault | undefined): Outcome {
  if (fault === undefined) return 'success';
  if (fault.kind === 'evicted' || fault.kind === 'wrong-output') return fault.kind;
  return fault.kind === 'interrupted' ? 'stopped' : 'failed';
}

/** How shells report a missing command: `sh: 1: pytohn: not found`, `bash: line 1: pytohn: command not found`. */
const missingCommand = /^\S*sh: (?:line )?\d+: (.+?): (?:command )?(?:not found|Permission denied)$/;

/** The fault of a training that did not exit with 0; undefined if it did. */
export function trainingFault(
  ended: CommandEnd,
  command: string,
  lines: readonly string[],
  asked: RequestedMemory,
): Fault | undefined {
  if (ended.status === 0) return undefined;
  const lastLine = lines.at(-1) ?? '';
  const said = lastLine === '' ? '' : `: ${lastLine}`;
  if (ended.status === 127 || ended.status === 126) {
    // Any command of several may be missing: the shell names it.
    const word = missingCommand.exec(lastLine)?.[1] ?? firstWord(command);
    const isMissing = ended.status === 127;
    const what = isMissing ? 'was not found' : 'could not be run';
    return new Fault('command-missing', `the training command \`${word}\` ${what}${said}`, {
      fix: isMissing
        ? `list ${word} in \`files\`, use its full path, or choose an environment that has it`
        : `make it executable (\`chmod +x ${word}\`), or start it with its interpreter, as in \`bash ${word}\``,
      about: word,
    });
  }
  const death = ended.readings && deathFault(ended, lines, asked, ended.readings);
  if (death !== undefined) return death;
  const rank = ended.rank === undefined ? '' : ` (rank ${ended.rank})`;
  const how =
    ended.signal === undefined
      ? `failed with exit code ${ended.status ?? 0}`
      : `was killed by ${ended.signal}`;
  const place = raisedAt(lines);
  const about = [place ?? '', lastSaid(lines)].filter((part) => part !== '').join(': ');
  const where = about === '' ? '' : `${place === undefined ? ':' : ' in'} ${about}`;
  return new Fault('training-failed', `the training ${how}${rank}${where}`, {
    ...(about !== '' && { about }),
    ...(ended.status === checkpointExit && {
      fix:
        'name the checkpoint folder with `checkpoint` in [train]: ' +
        `exit code ${checkpointExit} means that it saved a checkpoint`,
    }),
  });
}

/** The program a shell command starts with, past assignments like `A=1`. */
function firstWord(command: string): string {
  const words = command.trim().split(/[\s;&|()<>]+/);
  return words.find((word) => word !== '' && !/^\w+=/.test(word)) ?? command;
}
