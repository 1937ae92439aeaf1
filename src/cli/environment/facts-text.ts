import type { EnvironmentFacts } from '../../environment/describe-environment.ts';
import { deliveries, sizeEnvironment } from '../../environment/size-environment.ts';
import { formatSize } from '../../job/units.ts';

/** `PyTorch 2.7.1, GPU build for CUDA 12.9`, or that there is none. */
export function torchWords({ torch }: EnvironmentFacts): string {
  if (torch === undefined) return 'no PyTorch';
  const build =
    torch.build === 'cpu'
      ? 'CPU build'
      : `GPU build${torch.cuda === undefined ? '' : ` for CUDA ${torch.cuda}`}`;
  return `PyTorch ${torch.version}, ${build}${torch.from === 'pypi' ? ', from PyPI' : ''}`;
}

/** What an environment needs of a GPU, in a few words. */
export function needWords({ needs, torch }: EnvironmentFacts): string {
  const words = [
    ...(needs.cuda === undefined ? [] : [`a driver for CUDA ${needs.cuda} or newer`]),
    ...(needs.capability === undefined
      ? []
      : [`compute capability ${needs.capability.toFixed(1)} or higher`]),
  ];
  return words.join(', ') || (torch?.build === 'gpu' ? 'a GPU' : 'no GPU');
}

export function sizeWords({ bytes, packages, guessed }: EnvironmentFacts): string {
  const unsure = guessed === 0 ? '' : ` (${guessed} of them have no size in the lock: theirs is guessed)`;
  return `${packages} packages, ${formatSize(bytes)} to download${unsure}`;
}

/** One environment for people. */
export function factsText(facts: EnvironmentFacts): string {
  const sizes = deliveries.map((delivery) => {
    const { peakDisk, keptDisk, memory, why } = sizeEnvironment(facts.bytes, delivery, formatSize);
    const peak = peakDisk === keptDisk ? '' : `, ${formatSize(keptDisk)} of it stays`;
    const needs = memory === 0 ? '' : `, ${formatSize(memory)} memory`;
    return `${delivery.padEnd(9)}  ${formatSize(peakDisk)} disk${peak}${needs}: ${why}`;
  });
  const rows: [string, string[]][] = [
    ['python', [facts.python ?? 'none']],
    ['pytorch', [torchWords(facts)]],
    ['cuda', [facts.cuda ?? 'none']],
    ['needs', [needWords(facts), ...facts.needs.why.map((why) => `  ${why}`)]],
    ['size', [sizeWords(facts)]],
    ['delivered', sizes],
    ['hash', [facts.hash.slice(0, 16)]],
  ];
  const lines = rows.flatMap(([label, texts]) =>
    texts.map((text, index) => `  ${(index === 0 ? label : '').padEnd(9)}  ${text}\n`),
  );
  const subdir = facts.platform === facts.subdir ? '' : ` (${facts.subdir})`;
  return `${facts.environment} on ${facts.platform}${subdir}\n${lines.join('')}`;
}
