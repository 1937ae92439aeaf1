import { randomBytes } from 'node:crypto';
import { open, readdir, readFile, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import type { Env } from '../../base/env.ts';
import { mapLimited } from '../../base/map-limited.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import { createLocator } from '../../federation/locator.ts';
import type { ObjectOptions } from '../../federation/object-request.ts';
import { parseObjectUrl } from '../../federation/object-url.ts';
import type { Order, OrderedData } from '../../job/job.ts';
import { formatSize } from '../../job/units.ts';
import type { Attempt } from '../attempt.ts';
import {
  askNvidiaSmi,
  describeMachine,
  givenGpus,
  gpuOf,
  type Gpu,
  type SmiAnswer,
} from '../machine/machine.ts';
import { Brakes } from '../notes/brakes.ts';
import { diskFull } from '../scratch.ts';
import { checkTorch, type Check, type Finding } from './check-torch.ts';
import { locatorFor } from '../data/object-locator.ts';
import { reachObject } from './reach-object.ts';

/**
 * Asks the machine, before anything is fetched, whether it has what the job needs: a slot that cannot do the work is
 * left after a moment, and not after hours of transfer. All is asked at once and told in the journal; the Fault that is
 * thrown names the machine.
 */
export async function testMachine(attempt: Attempt): Promise<void> {
  await test([checkClock, checkDisk, checkGpus, checkServers], attempt);
}

/** The same for what can only be known when the software is there, and before data moves: whether it can use the GPUs. */
export async function testEnvironment(attempt: Attempt): Promise<void> {
  if (attempt.order.resources.gpus > 0) await test([checkTorch], attempt);
}

async function test(checks: Check[], attempt: Attempt): Promise<void> {
  const found = await Promise.all(checks.map((check) => asked(check, attempt)));
  const findings = found.flat();
  attempt.note({ kind: 'self-test', checks: findings.map(({ name, ok, said }) => ({ name, ok, said })) });
  const bad = findings.find(({ ok }) => !ok);
  if (bad !== undefined) throw faultOf(bad, attempt);
}

/** A mistake in a check is no reason to leave a machine. */
async function asked(check: Check, attempt: Attempt): Promise<Finding[]> {
  try {
    return await check(attempt);
  } catch (error) {
    attempt.world.signal.throwIfAborted();
    const said = error instanceof Error ? error.message : String(error);
    return [{ name: check.name, ok: true, said: `could not be asked: ${said}` }];
  }
}

function faultOf({ name, said, fault, fix }: Finding, { world }: Attempt): Fault {
  if (fault !== undefined) return fault;
  const { host, site } = describeMachine(world.env);
  const where = site === undefined ? host : `${host} (${site})`;
  return new Fault('self-test-failed', `${where} failed the self-test: ${name}: ${said}`, {
    fix: fix ?? 'another machine of the pool may have it',
    about: host,
  });
}

/** No order was written before this. */
const earliest = Date.UTC(2026, 0, 1);
/** Beyond this, tokens and certificates are judged wrongly. */
const maxBehindMs = 15 * 60_000;

/** Whether the machine's clock can be: it must not be behind the moment at which the access point started the attempt. */
const checkClock: Check = async ({ world }) => [
  judgeClock(world.clock.now(), await startedByAccessPoint(world.env)),
];

export function judgeClock(now: number, startedAt: number | undefined): Finding {
  const behind = (startedAt ?? earliest) - now;
  const shown = new Date(now).toISOString().slice(0, 19);
  if (behind <= maxBehindMs) return { name: 'clock', ok: true, said: `${shown}Z` };
  const before = startedAt === undefined ? '' : ` when the access point started the attempt it was later`;
  return {
    name: 'clock',
    ok: false,
    said: `it says ${shown}Z, which is ${Math.round(behind / 60_000)} minutes too early:${before || ' Updraft is younger than that'}`,
    fix: 'whoever runs the machine must set its clock: tokens and certificates are judged by it',
  };
}

/** By the access point's clock, in milliseconds; the start may lie long back, since inputs come first. */
async function startedByAccessPoint(env: Env): Promise<number | undefined> {
  const file = env['_CONDOR_JOB_AD'];
  if (file === undefined) return undefined;
  const ad = await readFile(file, 'latin1').catch(() => '');
  const seconds = /^JobCurrentStartDate\s*=\s*(\d+)/m.exec(ad)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

interface Machine {
  asked: number;
  /** Names of the GPUs this attempt may use, where somebody said so. */
  given: string[] | undefined;
  smi: SmiAnswer;
  /** Device files of GPUs. */
  devices: string[];
}

const driverFix = 'whoever runs the machine must look at its GPU driver';

/** Whether the GPUs that the job asks for are here and answer. */
const checkGpus: Check = async ({ order, world }) => {
  const asked = order.resources.gpus;
  if (asked === 0) return [];
  const given = givenGpus(world.env);
  return [judgeGpus({ asked, given, smi: await askNvidiaSmi(world), devices: await gpuDevices() })];
};

export function judgeGpus({ asked, given, smi, devices }: Machine): Finding {
  const bad = (said: string, fix = driverFix): Finding => ({ name: 'gpu', ok: false, said, fix });
  if (given !== undefined && given.length < asked)
    return bad(
      `the job asks for ${asked}, and the pool gave this slot ${given.length === 0 ? 'none' : given.join(', ')}`,
      'whoever runs the pool must look at how its slots name their GPUs',
    );
  if (smi.kind === 'silent') return bad('nvidia-smi does not answer');
  if (smi.kind === 'failed') return bad(`nvidia-smi says: ${smi.said}`);
  if (smi.kind === 'gpus') return judgeListed(asked, given, smi.gpus, bad);
  // No tool to ask, as in many an image: the devices at least must be there.
  if (devices.length === 0)
    return bad('there is no GPU: neither nvidia-smi nor a device like /dev/nvidia0 is here');
  return { name: 'gpu', ok: true, said: `${devices.join(', ')}; nvidia-smi is not here to ask` };
}

function judgeListed(
  asked: number,
  given: string[] | undefined,
  gpus: Gpu[],
  bad: (said: string) => Finding,
): Finding {
  const names = given ?? gpus.map(({ uuid }) => uuid);
  const unknown = names.find((name) => gpuOf(name, gpus) === undefined);
  if (unknown !== undefined)
    return bad(`${unknown} was given to this attempt, and nvidia-smi does not know it`);
  if (names.length < asked) return bad(`the job asks for ${asked}, and nvidia-smi finds ${names.length}`);
  const usable = names.flatMap((name) => gpuOf(name, gpus) ?? []);
  const lost = usable.find(({ name }) => /\bERR!|error|is lost/i.test(name));
  if (lost !== undefined) return bad(`nvidia-smi says of ${lost.uuid}: ${lost.name}`);
  return { name: 'gpu', ok: true, said: usable.map(({ name, uuid }) => `${name} (${uuid})`).join(', ') };
}

/** NVIDIA's, AMD's, and those of Linux on Windows. */
async function gpuDevices(): Promise<string[]> {
  const names = await readdir('/dev').catch(() => []);
  return names.filter((name) => /^(nvidia\d+|kfd|dxg)$/.test(name)).map((name) => `/dev/${name}`);
}

const atOnce = 4;

/**
 * Whether somebody who has the object answers, for everything that the agent itself will fetch: a machine without
 * network is left, and a last object that is missing is known before the first has been fetched.
 */
const checkServers: Check = async ({ order, world, shared }) => {
  const { env, clock, cwd, uid, version, signal } = world;
  const fetched = order.data.filter(
    ({ url, delivered }) => delivered === undefined && parseObjectUrl(url, env).kind !== 'file',
  );
  if (fetched.length === 0) return [];
  const federation = createLocator({ env, clock, cwd, uid, version });
  const brakes = order.recovery && new Brakes(shared, clock, order.recovery);
  return await mapLimited(fetched, atOnce, (source) =>
    checkObject(source, { federation: locatorFor(federation, order, source), signal }, brakes),
  );
};

async function checkObject(
  source: OrderedData,
  options: ObjectOptions,
  brakes: Brakes | undefined,
): Promise<Finding> {
  const name = `data.${source.name}`;
  const { tokenFile } = source;
  const access = { ...options, ...defined({ tokenFile }) };
  try {
    await brakes?.heed(source.url);
    const { server, said, size } = await reachOrBrake(source.url, access, brakes);
    await brakes?.lift(source.url);
    return { name, ok: true, said: `${server} ${said}${size === undefined ? '' : `: ${formatSize(size)}`}` };
  } catch (thrown) {
    options.signal?.throwIfAborted();
    const fault = asFault(thrown);
    if (fault.kind === 'internal') throw thrown;
    return { name, ok: false, said: fault.message, fault };
  }
}

/** An object that is missing everywhere is missing for all jobs of the run. */
async function reachOrBrake(
  url: string,
  access: ObjectOptions,
  brakes: Brakes | undefined,
): ReturnType<typeof reachObject> {
  try {
    return await reachObject(url, access);
  } catch (thrown) {
    if (asFault(thrown).kind === 'object-missing') await brakes?.pull(url);
    throw thrown;
  }
}

const probeBytes = 256 << 10;

/** Whether the disk keeps what is written to it, and has the room that the job was promised. */
const checkDisk: Check = async ({ order, scratch }) => {
  const broken = await writeAndRead(path.join(scratch.stage, 'probe'));
  if (broken !== undefined) return [broken];
  const { bavail, bsize } = await statfs(scratch.root);
  return [judgeRoom(bavail * bsize, await stillNeeded(order), order.scratchParent)];
};

export function judgeRoom(free: number, needed: number, folder: string): Finding {
  const said = `${formatSize(free)} free in ${folder}${needed > 0 ? `, ${formatSize(needed)} needed` : ''}`;
  const fix = 'free some room there, or ask for less `disk` in [resources] if the job needs less';
  return { name: 'disk', ok: free >= needed, said, ...(free >= needed ? {} : { fix }) };
}

/** What the pool promised, or else what the data is known to take, less what lies there already. */
async function stillNeeded({ resources, data }: Order): Promise<number> {
  const { diskBytes } = resources;
  if (diskBytes === 'auto')
    return data
      .filter(({ delivered }) => delivered === undefined)
      .reduce((sum, { expect }) => sum + (expect.bytes ?? 0), 0);
  const there = await Promise.all(
    data.map(async ({ delivered }) =>
      delivered === undefined
        ? 0
        : await stat(delivered).then(
            ({ size }) => size,
            () => 0,
          ),
    ),
  );
  return Math.max(
    0,
    there.reduce((left, size) => left - size, diskBytes),
  );
}

async function writeAndRead(file: string): Promise<Finding | undefined> {
  const written = randomBytes(probeBytes);
  const finding = (said: string): Finding => ({
    name: 'disk',
    ok: false,
    said,
    fix: 'whoever runs the machine must look at its disk',
  });
  try {
    await using handle = await open(file, 'wx+', 0o600);
    await handle.writeFile(written);
    await handle.datasync();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(probeBytes), 0, probeBytes, 0);
    if (bytesRead === probeBytes && buffer.equals(written)) return undefined;
    return finding(`what was written to ${file} came back changed`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const full = code === 'ENOSPC' || code === 'EDQUOT';
    return { ...finding(message), ...(full ? { fault: diskFull(path.dirname(file), error) } : {}) };
  } finally {
    await rm(file, { force: true });
  }
}
