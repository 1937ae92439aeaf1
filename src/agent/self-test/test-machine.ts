import path from 'node:path';
import { counted, defined, fileSize, firstShard, formatSize, mapLimited } from '@updraft/base';
import { randomBytes } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { asFault, Fault } from '@updraft/account/fault';
import {
  type ObjectOptions,
  parseObjectUrl,
  folderFault,
  type Located,
  type LocateOptions,
  MissingAtOrigin,
  type ObjectServer,
  type OriginFacts,
  readOriginFacts,
  requestObject,
} from '@updraft/pelican/federation';
import os from 'node:os';
import { firstAnswer, NoAnswer } from '@updraft/pelican/http';
import type { WorkOrder, OrderedData } from '../../job/job.ts';
import { heldBytes, isOnDemand } from '../../job/on-demand.ts';
import { type Attempt, until } from '../attempt.ts';
import {
  queryNvidiaSmi,
  describeGpus,
  describeMachine,
  assignedGpus,
  findGpu,
  ownGpus,
  type Gpu,
  type SmiResult,
  queryProgram,
  type ProgramOutput,
} from '../machine/machine.ts';
import { MissingObjects } from '../notes/missing-objects.ts';
import { diskFull } from '../scratch.ts';
import { locatorFor, openLocator } from '../data/object-locator.ts';
import { trainingEnv } from '../training/shell.ts';

/**
 * Tests of the machine and of the job's software, beside the attempt's first steps: no transfer waits for them, and
 * a slot that cannot do the work is left after a moment, not after hours of transfer.
 */
export class SelfTests {
  /** The attempt to continue with: asked to end if a test fails, with its fault as the reason. */
  readonly attempt: Attempt;
  readonly #machine: Promise<SelfTestResult[]>;
  readonly #failed = new AbortController();
  readonly #over = new AbortController();
  #judged: Promise<unknown> = Promise.resolve();

  /** Tests whether the machine has what the job needs. All tests run at once and are recorded. */
  constructor(attempt: Attempt) {
    this.attempt = until(attempt, this.#failed.signal);
    const checks = [checkDisk, checkGpus, checkServers];
    this.#machine = runTests(checks, until(attempt, this.#over.signal));
    this.begin(() => this.#machine, attempt);
  }

  /** The same for what needs the environment: whether it can use the GPUs. A broken machine is named first. */
  testEnvironment(attempt: Attempt): void {
    if (attempt.order.resources.gpus === 0) return;
    this.begin((asked) => runTests([checkTorch], asked, this.#machine), attempt);
    // Nothing waits for it.
    probeSlot(until(attempt, this.#over.signal)).catch(Boolean);
  }

  /** Starts a test that throws if it fails; it may end early once it is over. */
  begin(test: (attempt: Attempt) => Promise<unknown>, attempt: Attempt, over = this.#over.signal): void {
    const asked = until(attempt, AbortSignal.any([over, this.#over.signal]));
    const judged = test(asked).catch((error: unknown) => {
      if (!asked.context.signal.aborted) this.#failed.abort(asFault(error));
    });
    this.#judged = Promise.all([this.#judged, judged]);
  }

  /** Waits until all have ended, or the attempt must end; throws if one failed. */
  async passed(): Promise<void> {
    await this.#judged;
    this.#failed.signal.throwIfAborted();
  }

  /**
   * Waits until the training may start. Shards on demand come while it starts, on a machine that has passed: the
   * test of GPUs that several processes may use runs beside it.
   */
  async allowTraining(): Promise<void> {
    const isStreamed = this.attempt.order.data.some(isOnDemand);
    const found = await this.#machine.catch(() => []);
    if (!isStreamed || !found.some(({ isShared }) => isShared === true)) await this.#judged;
    this.#failed.signal.throwIfAborted();
  }

  /** Stops testing. */
  stop(): void {
    this.#over.abort();
  }
}

/** Records what the tests find, after an earlier test has passed. The Fault names the machine. */
async function runTests(
  checks: SelfTest[],
  attempt: Attempt,
  earlier?: Promise<unknown>,
): Promise<SelfTestResult[]> {
  const found = Promise.all(checks.map((check) => runTest(check, attempt)));
  const findings = (await Promise.all([found, earlier]))[0].flat();
  if (findings.length === 0) return [];
  attempt.record({ kind: 'self-test', checks: findings.map(({ name, ok, said }) => ({ name, ok, said })) });
  const bad = findings.find(({ ok }) => !ok);
  if (bad !== undefined) throw faultOf(bad, attempt);
  return findings;
}

/** A bug in a test is no reason to leave a machine. */
async function runTest(check: SelfTest, attempt: Attempt): Promise<SelfTestResult[]> {
  try {
    return await check(attempt);
  } catch (error) {
    attempt.context.signal.throwIfAborted();
    const said = error instanceof Error ? error.message : String(error);
    return [{ name: check.name, ok: true, said: `could not be tested: ${said}` }];
  }
}

function faultOf({ name, said, fault, fix }: SelfTestResult, { context }: Attempt): Fault {
  if (fault !== undefined) return fault;
  const { host, site } = describeMachine(context.env);
  const where = site === undefined ? host : `${host} (${site})`;
  return new Fault('self-test-failed', `${where} failed the self-test: ${name}: ${said}`, {
    fix: fix ?? 'run the job on another machine of the pool',
    about: host,
  });
}

interface GpuFacts {
  asked: number;
  /** Names of the GPUs that this attempt may use, if the pool names them. */
  assigned: string[] | undefined;
  smi: SmiResult;
  /** Device files of GPUs. */
  devices: string[];
}

const driverFix = 'ask the administrator of the machine to check its GPU driver';

/** Whether the GPUs that the job asks for are here and respond. */
const checkGpus: SelfTest = async ({ order, context, record }) => {
  const asked = order.resources.gpus;
  if (asked === 0) return [];
  const assigned = assignedGpus(context.env);
  const smi = await queryNvidiaSmi(context);
  const own = smi.kind === 'gpus' ? ownGpus(context.env, smi.gpus) : [];
  if (own.length > 0) record({ kind: 'gpus-found', ...describeGpus(own, context.env) });
  return [judgeGpus({ asked, assigned, smi, devices: await gpuDevices() })];
};

export function judgeGpus({ asked, assigned, smi, devices }: GpuFacts): SelfTestResult {
  const bad = (said: string, fix = driverFix): SelfTestResult => ({ name: 'gpu', ok: false, said, fix });
  if (assigned !== undefined && assigned.length < asked)
    return bad(
      `the job asks for ${counted(asked, 'GPU')}, and the pool gave ` +
        `this slot ${assigned.length === 0 ? 'none' : assigned.join(', ')}`,
      'ask the administrator of the pool to check how its slots name their GPUs',
    );
  if (smi.kind === 'silent') return bad('nvidia-smi does not answer');
  if (smi.kind === 'failed') return bad(`nvidia-smi says: ${smi.said}`);
  if (smi.kind === 'gpus') return judgeListed(asked, assigned, smi.gpus, bad);
  // No tool to ask, as in many images: at least the devices must exist.
  if (devices.length === 0)
    return bad('there is no GPU: neither nvidia-smi nor a device like /dev/nvidia0 exists');
  return { name: 'gpu', ok: true, said: `${devices.join(', ')}; nvidia-smi is not installed` };
}

function judgeListed(
  asked: number,
  assigned: string[] | undefined,
  gpus: Gpu[],
  bad: (said: string) => SelfTestResult,
): SelfTestResult {
  const names = assigned ?? gpus.map(({ uuid }) => uuid);
  const unknown = names.find((name) => findGpu(name, gpus) === undefined);
  if (unknown !== undefined)
    return bad(`the pool assigned ${unknown} to this attempt, and nvidia-smi does not list it`);
  if (names.length < asked)
    return bad(`the job asks for ${counted(asked, 'GPU')}, and nvidia-smi finds ${names.length}`);
  const usable = names.flatMap((name) => findGpu(name, gpus) ?? []);
  const lost = usable.find(({ name }) => /\bERR!|error|is lost/i.test(name));
  if (lost !== undefined) return bad(`nvidia-smi says of ${lost.uuid}: ${lost.name}`);
  const said = usable.map(({ name, uuid }) => `${name} (${uuid})`).join(', ');
  return { name: 'gpu', ok: true, said, isShared: usable.every(({ isShared }) => isShared === true) };
}

/** NVIDIA's, AMD's, and those of WSL. */
async function gpuDevices(): Promise<string[]> {
  const names = await readdir('/dev').catch(() => []);
  return names.filter((name) => /^(nvidia\d+|kfd|dxg)$/.test(name)).map((name) => `/dev/${name}`);
}

const concurrency = 4;

/**
 * Whether a server answers for everything that the agent itself will fetch: a machine without network is left at
 * once, and a missing last object is known before the first is fetched.
 */
const checkServers: SelfTest = async ({ order, context, shared }) => {
  const { env, clock, signal } = context;
  const fetched = order.data.filter(
    ({ url, delivered }) => delivered === undefined && parseObjectUrl(url, env).kind !== 'file',
  );
  if (fetched.length === 0) return [];
  const federation = openLocator(context, order);
  const missingObjects = order.recovery && new MissingObjects(shared, clock, order.recovery);
  return await mapLimited(fetched, concurrency, (source) =>
    checkObject(source, { federation: locatorFor(federation, order, source), signal }, missingObjects),
  );
};

async function checkObject(
  source: OrderedData,
  options: ObjectOptions,
  missingObjects: MissingObjects | undefined,
): Promise<SelfTestResult> {
  const name = `data.${source.name}`;
  const { tokenFile } = source;
  const url = firstShard(source.url);
  const access = { ...options, ...defined({ tokenFile }) };
  try {
    await missingObjects?.throwIfMissing(url);
    const { server, said, size } = await reachOrMarkMissing(url, access, missingObjects);
    await missingObjects?.markPresent(url);
    return { name, ok: true, said: `${server} ${said}${size === undefined ? '' : `: ${formatSize(size)}`}` };
  } catch (thrown) {
    options.signal?.throwIfAborted();
    const fault = asFault(thrown);
    if (fault.kind === 'internal') throw thrown;
    return { name, ok: false, said: fault.message, fault };
  }
}

/** An object that is missing everywhere is missing for all jobs of the run. */
async function reachOrMarkMissing(
  url: string,
  access: ObjectOptions,
  missingObjects: MissingObjects | undefined,
): ReturnType<typeof reachObject> {
  try {
    return await reachObject(url, access);
  } catch (thrown) {
    if (asFault(thrown).kind === 'object-missing') await missingObjects?.markMissing(url);
    throw thrown;
  }
}

const probeBytes = 256 << 10;

/** Whether the disk keeps what is written to it, and has the space that the job was promised. */
const checkDisk: SelfTest = async ({ order, scratch }) => {
  // At once: soon data arrives, and takes of it.
  const { bavail, bsize } = statfsSync(scratch.root);
  const broken = await writeAndRead(path.join(scratch.stage, '.probe'));
  if (broken !== undefined) return [broken];
  return [judgeRoom(bavail * bsize, await remainingBytes(order), order.scratchParent)];
};

export function judgeRoom(free: number, needed: number, folder: string): SelfTestResult {
  const said = `${formatSize(free)} free in ${folder}${needed > 0 ? `, ${formatSize(needed)} needed` : ''}`;
  const fix = 'free space there, or ask for less `disk` in [resources] if the job needs less';
  return { name: 'disk', ok: free >= needed, said, ...(free >= needed ? {} : { fix }) };
}

/** What the pool promised, or else what the data needs, minus what is there already. */
async function remainingBytes({ resources, data }: WorkOrder): Promise<number> {
  const { diskBytes } = resources;
  if (diskBytes === 'auto')
    return data
      .filter(({ delivered }) => delivered === undefined)
      .reduce((sum, source) => sum + (heldBytes(source) ?? 0), 0);
  const there = await Promise.all(
    data.map(async ({ delivered }) => (delivered === undefined ? 0 : ((await fileSize(delivered)) ?? 0))),
  );
  return Math.max(
    0,
    there.reduce((left, size) => left - size, diskBytes),
  );
}

async function writeAndRead(file: string): Promise<SelfTestResult | undefined> {
  const written = randomBytes(probeBytes);
  const finding = (said: string): SelfTestResult => ({
    name: 'disk',
    ok: false,
    said,
    fix: 'ask the administrator of the machine to check its disk',
  });
  try {
    await using handle = await open(file, 'wx+', 0o600);
    await handle.writeFile(written);
    await handle.datasync();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(probeBytes), 0, probeBytes, 0);
    if (bytesRead === probeBytes && buffer.equals(written)) return undefined;
    return finding(`bytes written to ${file} were read back changed`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const full = code === 'ENOSPC' || code === 'EDQUOT';
    return { ...finding(message), ...(full ? { fault: diskFull(path.dirname(file), error) } : {}) };
  } finally {
    await rm(file, { force: true });
  }
}

/** One test of the machine, and its result. */
interface SelfTestResult {
  name: string;
  ok: boolean;
  said: string;
  /** What ends the attempt, if it is not a machine that lacks what the job needs. */
  fault?: Fault;
  /** What to do if it is not ok. */
  fix?: string;
  /** Of GPUs: several processes may use them at once. */
  isShared?: boolean;
}

/** Tests one thing; throws only if the attempt must end. */
type SelfTest = (attempt: Attempt) => Promise<SelfTestResult[]>;

/** Python on a cold disk takes time; a GPU takes a fraction of a second. */
const timeoutMs = 60_000;

/**
 * Initializes a GPU as PyTorch does, with the same driver library, and writes to its memory. Importing PyTorch itself
 * would take five seconds; its version file says what it was built for.
 */
const script = `
import ctypes, importlib.util, os, sys, timeit
spec = importlib.util.find_spec("torch")
if spec is None or not spec.origin: sys.exit(3)
about = {}
with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as file: exec(file.read(), about)
version, built = about.get("__version__", "?"), about.get("cuda")
if not built:
    print("%s|%s|0|0" % (version, "ROCm" if about.get("hip") else ""))
    sys.exit(0)
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code == 0: return
    text = ctypes.c_char_p()
    cuda.cuGetErrorString(code, ctypes.byref(text))
    sys.exit("%s: %s" % (name, (text.value or b"error %d" % code).decode()))
driver, count, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t(1 << 24)
call("cuInit", 0)
call("cuDriverGetVersion", ctypes.byref(driver))
call("cuDeviceGetCount", ctypes.byref(count))
for index in range(count.value):
    context, memory = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), index)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(memory), size)
    call("cuMemsetD8_v2", memory, 1, size)
    call("cuCtxSynchronize")
rate = 0
try:
    host = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(host), size, 0)
    copy = lambda: call("cuMemcpyHtoD_v2", memory, host, size)
    rate = 8 * size.value / timeit.timeit(copy, copy, number=8)
except BaseException: pass
print("%s|%s|%d|%d|%d" % (version, built, count.value, driver.value // 1000, rate))
`;

/** About a second of a core: how fast it copies memory and decodes images, and the disk writes. */
const probe = `
import io, json, os, sys, tempfile, timeit
def rate(size, run):
    n, took = timeit.Timer(run).autorange()
    return round(n * size / took)
size = 1 << 24
block, d = bytes(size), tempfile.TemporaryFile(dir=sys.argv[1])
found = {
  "memoryBytesPerSecond": rate(size, lambda: bytearray(block)),
  "diskBytesPerSecond": rate(size, lambda: os.fsync(os.pwrite(d.fileno(), block, 0) and d))
}
try:
    from PIL import Image
    f = io.BytesIO()
    Image.effect_noise((500, 375), 60).convert("RGB").save(f, "JPEG")
    found["imagesPerSecond"] = rate(1, lambda: Image.open(f).load())
except ImportError: 0
print(json.dumps(found))
`;

async function probeSlot(attempt: Attempt): Promise<void> {
  const answer = await askPython(probe, attempt);
  if (answer.kind === 'ended')
    attempt.record({ kind: 'slot-probed', figures: JSON.parse(answer.stdout) as Record<string, number> });
}

function askPython(code: string, { order, scratch, context }: Attempt): Promise<ProgramOutput> {
  // Not one of the training's processes, which end with it.
  const env = { ...trainingEnv(order, scratch, context.env), UPDRAFT_SCRATCH: undefined };
  return queryProgram('python3', ['-c', code, scratch.stage], { env, timeoutMs }, context);
}

/** If the training's Python has PyTorch: whether it can use the GPUs that the job asks for. */
const checkTorch: SelfTest = async (attempt) => {
  const answer = await askPython(script, attempt);
  const [, , , , rate] = answer.kind === 'ended' ? answer.stdout.split('|').map(Number) : [];
  if (rate) attempt.record({ kind: 'slot-probed', figures: { copyBytesPerSecond: rate } });
  return judgeTorch(attempt.order.resources.gpus, answer);
};

export function judgeTorch(asked: number, answer: ProgramOutput): SelfTestResult[] {
  if (answer.kind === 'absent' || (answer.kind === 'ended' && answer.status === 3)) return [];
  const bad = (said: string): SelfTestResult => ({ name: 'torch', ok: false, said, fix });
  if (answer.kind === 'silent') return [bad(`the GPU did not start within ${timeoutMs / 1000} s`)];
  if (answer.status !== 0)
    return [bad(`the GPU cannot be used from Python: ${answer.stderr.trim().split('\n').at(-1) ?? ''}`)];
  const [version = '', built = '', count = '0', driver = '0'] = answer.stdout.trim().split('|');
  if (built === '') return [withoutGpus(version)];
  const what = `PyTorch ${version} for CUDA ${built}`;
  if (built === 'ROCm') return [{ name: 'torch', ok: true, said: `PyTorch ${version} for ROCm` }];
  if (Number(driver) < Number.parseInt(built, 10))
    return [bad(`${what} needs a newer driver: the driver here supports CUDA ${driver}`)];
  if (Number(count) < asked)
    return [bad(`${what} finds ${counted(Number(count), 'GPU')}, and the job asks for ${asked}`)];
  return [
    {
      name: 'torch',
      ok: true,
      said: `${what}; ${counted(Number(count), 'GPU')} answered, driver for CUDA ${driver}`,
    },
  ];
}

const fix =
  'run on another machine: set `cuda` in `gpu` of [resources] to ask for a newer driver, and start the image with GPUs';

/** The environment is to blame, not the machine. */
function withoutGpus(version: string): SelfTestResult {
  const said = `PyTorch ${version} was built without GPU support`;
  const fault = new Fault('environment-broken', `the job asks for a GPU, but its ${said}`, {
    fix: 'use an environment with a CUDA build of PyTorch, or remove `gpus`',
    about: 'torch',
  });
  return { name: 'torch', ok: false, said, fault };
}

interface ReachableServer {
  /** `host:port` that answered. */
  server: string;
  said: string;
  size?: number;
}

/** If no server answers for this long, the machine counts as cut off from them. */
const answerMs = 20_000;
const retryMs = 2000;
const headerMs = 10_000;

/**
 * Finds a server that answers for an object. Any answer will do: the transfer retries and knows other servers. Throws
 * what finding the servers throws, `object-missing` if the origin says so, and `servers-unreachable` if no server
 * answered for a while.
 */
export async function reachObject(url: string, options: ObjectOptions): Promise<ReachableServer> {
  const located = await options.federation.locate(url, options);
  const { clock } = options.federation.wire;
  const end = clock.monotonic() + answerMs;
  for (;;) {
    const answers = await askServers(located, options);
    const best = answers.find(isGood) ?? answers.find(({ status }) => status !== undefined);
    if (best !== undefined && isGood(best)) return reached(best, undefined);
    const gone = answers.find(
      ({ status, server }) => server.kind !== 'cache' && (status === 404 || status === 410),
    );
    if (gone !== undefined) throw new MissingAtOrigin(located.url, gone.server);
    if (best !== undefined) return reached(best, await askOrigin(url, located, options));
    if (clock.monotonic() + retryMs > end) throw unreachable(located, answers);
    await clock.sleep(retryMs, options.signal);
  }
}

interface Answer {
  server: ObjectServer;
  /** Undefined if it could not be reached. */
  status: number | undefined;
  silence?: string;
  size?: number;
}

const isGood = ({ status }: Answer): boolean => status === 200;

function reached({ server, status, size }: Answer, origin: OriginFacts | undefined): ReachableServer {
  const known = defined({ size: size ?? origin?.size });
  if (status === 200) return { server: server.host, said: 'has it', ...known };
  if (status === 504 && origin !== undefined)
    return { server: server.host, said: 'does not have it yet', ...known };
  // Caches may be wrong about what exists; the origin is not.
  return origin === undefined
    ? { server: server.host, said: `answers with status ${status ?? ''}`, ...known }
    : { server: origin.server, said: 'has it', ...known };
}

/** What servers answer, up to the first good answer. */
async function askServers(located: Located, options: ObjectOptions): Promise<Answer[]> {
  const answers: Answer[] = [];
  const isLast = async (server: ObjectServer, how: ObjectOptions): Promise<true | undefined> => {
    const answer = await ask(located, server, how);
    answers.push(answer);
    return isGood(answer) || undefined;
  };
  await firstAnswer(located.servers, isLast, options);
  return answers;
}

/** Caches remember a 404 after the object has appeared, and need not have what exists: only the origin knows. */
async function askOrigin(
  url: string,
  located: Located,
  options: ObjectOptions,
): Promise<OriginFacts | undefined> {
  const { federation, signal } = options;
  const locate = (how: LocateOptions): Promise<Located> => federation.locate(url, { ...options, ...how });
  const known = await readOriginFacts(located, { wire: federation.wire, locate, signal });
  if (known?.isCollection === true) throw folderFault(located.url);
  return known;
}

async function ask(located: Located, server: ObjectServer, options: ObjectOptions): Promise<Answer> {
  try {
    // A plain request would make a cache ask its origin for digests, which takes minutes for a big object.
    const headers: Record<string, string> =
      server.kind === 'cache' ? { 'Cache-Control': 'only-if-cached' } : {};
    const request = { method: 'HEAD' as const, server, headers, headerMs };
    const { status, headers: said } = await requestObject(located, request, options);
    const length = status === 200 ? said['content-length'] : undefined;
    return { server, status, ...(length === undefined ? {} : { size: Number(length) }) };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { server, status: undefined, silence: error.message };
  }
}

function unreachable({ url }: Located, answers: Answer[]): Fault {
  const said = [...new Set(answers.map(({ silence }) => silence))].join('; ');
  return new Fault('servers-unreachable', `${os.hostname()} cannot reach any server of ${url}: ${said}`, {
    fix: 'run the job on another machine: one without network access cannot fetch data',
    about: url,
  });
}
