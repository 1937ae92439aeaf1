import { counted } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import type { Attempt } from '../attempt.ts';
import { queryProgram, type ProgramOutput } from '../machine/machine.ts';
import { trainingEnv } from '../training/shell.ts';

/** One test of the machine, and its result. */
export interface SelfTestResult {
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
export type SelfTest = (attempt: Attempt) => Promise<SelfTestResult[]>;

/** Python on a cold disk takes time; a GPU takes a fraction of a second. */
const timeoutMs = 60_000;

/**
 * Initializes a GPU as PyTorch does, with the same driver library, and writes to its memory. Importing PyTorch itself
 * would take five seconds; its version file says what it was built for.
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

/** If the training's Python has PyTorch: whether it can use the GPUs that the job asks for. */
export const checkTorch: SelfTest = async ({ order, scratch, context }) => {
  const asked = order.resources.gpus;
  // Not one of the training's processes, which end with it.
  const env = { ...trainingEnv(order, scratch, context.env), UPDRAFT_SCRATCH: undefined };
  const answer = await queryProgram('python3', ['-c', script], { env, timeoutMs }, context);
  return judgeTorch(asked, answer);
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
