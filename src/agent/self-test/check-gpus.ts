import { readdir } from 'node:fs/promises';
import { askNvidiaSmi, givenGpus, gpuOf, type Gpu, type SmiAnswer } from '../nvidia-smi.ts';
import type { Check, Finding } from './finding.ts';

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
export const checkGpus: Check = async ({ order, world }) => {
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
