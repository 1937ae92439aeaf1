import { counted } from '../../base/counted.ts';
import { Fault } from '../../fault/fault.ts';
import type { Attempt } from '../attempt.ts';
import { queryProgram, type ProgramOutput } from '../machine/machine.ts';
import { trainingEnv } from '../training/shell.ts';

/** One thing the machine was asked before any data moved, and what it said. */
export interface SelfTestResult {
  name: string;
  ok: boolean;
  said: string;
  /** What the attempt ends of, where it is something else than a machine that lacks what the job needs. */
  fault?: Fault;
  /** What to do where it is not ok. */
  fix?: string;
}

/** Asks the machine something; throws only when the attempt must end. */
export type SelfTest = (attempt: Attempt) => Promise<SelfTestResult[]>;

/** A Python on a cold disk takes its time; the GPUs a fraction of a second each. */
const timeoutMs = 60_000;

/**
 * Does what PyTorch does when it starts a GPU, with the same library of the driver, and writes something into its
 * memory. Importing PyTorch itself would take five seconds; of what it was built for its version file tells.
 */
const script = `
import ctypes, importlib.util, os, sys
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
driver, count, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t(1 << 20)
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
print("%s|%s|%d|%d" % (version, built, count.value, driver.value // 1000))
`;

/** Where the training's Python has PyTorch: whether the two can use the GPUs that the job asks for. */
export const checkTorch: SelfTest = async ({ order, scratch, context }) => {
  const asked = order.resources.gpus;
  const env = trainingEnv(order, scratch, context.env);
  const answer = await queryProgram('python3', ['-c', script], { env, cwd: scratch.tmp, timeoutMs }, context);
  return judgeTorch(asked, answer);
};

export function judgeTorch(asked: number, answer: ProgramOutput): SelfTestResult[] {
  if (answer.kind === 'absent' || (answer.kind === 'ended' && answer.status === 3)) return [];
  const bad = (said: string): SelfTestResult => ({ name: 'torch', ok: false, said, fix });
  if (answer.kind === 'silent') return [bad(`the GPU could not be started within ${timeoutMs / 1000} s`)];
  if (answer.status !== 0)
    return [bad(`the GPU cannot be used from Python: ${answer.stderr.trim().split('\n').at(-1) ?? ''}`)];
  const [version = '', built = '', count = '0', driver = '0'] = answer.stdout.trim().split('|');
  if (built === '') return [withoutGpus(version)];
  const what = `PyTorch ${version} for CUDA ${built}`;
  if (built === 'ROCm') return [{ name: 'torch', ok: true, said: `PyTorch ${version} for ROCm` }];
  if (Number(driver) < Number.parseInt(built, 10))
    return [bad(`${what} needs a newer driver: the one here knows CUDA ${driver}`)];
  if (Number(count) < asked)
    return [bad(`${what} finds ${counted(Number(count), 'GPU')}, and the job asks for ${asked}`)];
  return [{ name: 'torch', ok: true, said: `${what}; ${count} answered, driver for CUDA ${driver}` }];
}

const fix =
  'another machine may do; `cuda` in `gpu` of [resources] asks for a driver that is new enough, and an image must be started with its GPUs';

/** The machine is not to blame. */
function withoutGpus(version: string): SelfTestResult {
  const said = `PyTorch ${version} was built without support for GPUs`;
  const fault = new Fault('environment-broken', `the job asks for a GPU, but its ${said}`, {
    fix: 'use an environment with a CUDA build of PyTorch, or ask for no `gpus`',
    about: 'torch',
  });
  return { name: 'torch', ok: false, said, fault };
}
