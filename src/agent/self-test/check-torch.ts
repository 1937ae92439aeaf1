import { Fault } from '../../fault/fault.ts';
import { askProgram, type ProgramAnswer } from '../ask-program.ts';
import { trainingEnv } from '../training-env.ts';
import type { Check, Finding } from './finding.ts';

/** Importing PyTorch from a cold disk takes its time; starting the GPU on top of that a second or two. */
const patienceMs = 120_000;

/** Lets the GPU add something up: a driver that only lists it may still not work. */
const script = `
import importlib.util, sys
if importlib.util.find_spec("torch") is None: sys.exit(3)
import torch
count = torch.cuda.device_count() if torch.cuda.is_available() else 0
built = torch.version.cuda or getattr(torch.version, "hip", None)
for index in range(count): torch.ones(8, device="cuda:%d" % index).sum().item()
print("%s|%s|%d" % (torch.__version__, built or "", count))
`;

/** Where the training's Python has PyTorch: whether that can use the GPUs the job asks for. */
export const checkTorch: Check = async ({ order, scratch, world }) => {
  const asked = order.resources.gpus;
  if (asked === 0) return [];
  const env = trainingEnv(order, scratch, world.env);
  const answer = await askProgram('python3', ['-c', script], { env, cwd: scratch.tmp, patienceMs }, world);
  return judgeTorch(asked, answer);
};

export function judgeTorch(asked: number, answer: ProgramAnswer): Finding[] {
  if (answer.kind === 'absent' || (answer.kind === 'ended' && answer.status === 3)) return [];
  const bad = (said: string): Finding => ({
    name: 'torch',
    ok: false,
    said,
    fix: 'the driver of this machine may be too old for this PyTorch (`cuda` in [resources] asks for a newer one), or its GPU broken',
  });
  if (answer.kind === 'silent') return [bad(`PyTorch did not use the GPU within ${patienceMs / 1000} s`)];
  const [version = '', built = '', count = '0'] = answer.stdout.trim().split('|');
  if (answer.status !== 0)
    return [bad(`PyTorch cannot use the GPU: ${answer.stderr.trim().split('\n').at(-1) ?? 'it ended'}`)];
  if (built === '') return [withoutGpus(version)];
  const said = `PyTorch ${version} for CUDA ${built} can use ${count} of ${asked} GPUs`;
  return [Number(count) < asked ? bad(said) : { name: 'torch', ok: true, said }];
}

/** The machine is not to blame. */
function withoutGpus(version: string): Finding {
  const said = `PyTorch ${version} was built without support for GPUs`;
  const fault = new Fault('environment-broken', `the job asks for a GPU, but its ${said}`, {
    fix: 'use an environment with a CUDA build of PyTorch, or ask for no `gpus`',
    about: 'torch',
  });
  return { name: 'torch', ok: false, said, fault };
}
