import { counted, formatSize, given } from '@updraft/base';
import type { Document, Fact } from '@updraft/view/document';
import {
  type EnvironmentFacts,
  deliveries,
  type Delivery,
  sizeEnvironment,
} from '../../environment/describe-environment.ts';

/** `PyTorch 2.7.1, GPU build for CUDA 12.9`, or `no PyTorch`. */
export function describeTorch({ torch }: EnvironmentFacts): string {
  if (torch === undefined) return 'no PyTorch';
  const build =
    torch.build === 'cpu'
      ? 'CPU build'
      : `GPU build${torch.cuda === undefined ? '' : ` for CUDA ${torch.cuda}`}`;
  return `PyTorch ${torch.version}, ${build}${torch.from === 'pypi' ? ', from PyPI' : ''}`;
}

/** The GPU that an environment needs, in a few words. */
export function describeNeeds({ needs, torch }: EnvironmentFacts): string {
  const words = given(
    needs.cuda !== undefined && `a driver for CUDA ${needs.cuda} or newer`,
    needs.capability !== undefined && `compute capability ${needs.capability.toFixed(1)} or higher`,
  );
  return words.join(', ') || (torch?.build === 'gpu' ? 'a GPU' : 'no GPU');
}

const describePackages = ({ packages }: EnvironmentFacts): string => counted(packages, 'package');

export function describeSize(facts: EnvironmentFacts): string {
  const { bytes, guessed } = facts;
  const unsure =
    guessed === 0 ? '' : ` (estimated: ${counted(guessed, 'package')} without a size in the lock)`;
  return `${describePackages(facts)}, ${formatSize(bytes)} to download${unsure}`;
}

/** What the software contains and needs, as labelled rows; `ways` are how it may get to the worker. */
function softwareFacts(facts: EnvironmentFacts, ways: readonly Delivery[]): Fact[] {
  const sizes = ways.map((delivery) => {
    const { peakDisk, keptDisk, why } = sizeEnvironment(facts.bytes, delivery, formatSize);
    const peak = peakDisk === keptDisk ? '' : `, ${formatSize(keptDisk)} of it kept`;
    return `${delivery.padEnd(9)}  ${formatSize(peakDisk)} disk${peak}: ${why}`;
  });
  return [
    ['python', facts.python ?? 'none'],
    ['pytorch', describeTorch(facts)],
    ['cuda', facts.cuda ?? 'none'],
    ['needs', describeNeeds(facts), ...facts.needs.why.map((why) => `  ${why}`)],
    ['size', describeSize(facts)],
    ['delivered', ...sizes],
  ];
}

export function environmentPage(facts: EnvironmentFacts): Document {
  const subdir = facts.platform === facts.subdir ? '' : ` (${facts.subdir})`;
  const hash: Fact = ['hash', facts.hash.slice(0, 16)];
  return [
    `${facts.environment} on ${facts.platform}${subdir}`,
    { facts: [...softwareFacts(facts, deliveries), hash] },
  ];
}
