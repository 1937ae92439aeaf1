import type { PlannedData } from '../../job/plan.ts';
import { estimateDisk } from '../../job/estimate-disk.ts';
import { formatSize } from '../../job/units.ts';
import type { PlanFacts } from '../facts.ts';
import type { Found, Rule } from '../finding.ts';

/** Rules about the disk of a job. */
export const diskRules: Rule<PlanFacts>[] = [
  {
    name: 'disk-too-small',
    level: 'error',
    about: 'The data and the image alone are larger than the disk that is asked for.',
    check: (facts) => {
      const { least, asked } = needs(facts);
      return asked >= least.bytes ? [] : [short(facts, 'cannot hold', least)];
    },
  },
  {
    name: 'disk-tight',
    level: 'warning',
    about:
      'The disk asked for is less than data, unpacking, image, checkpoints and outputs are expected to take.',
    check: (facts) => {
      const { least, likely, asked } = needs(facts);
      return asked < least.bytes || asked >= likely.bytes ? [] : [short(facts, 'is tight', likely)];
    },
  },
];

interface Need {
  bytes: number;
  why: string;
}

/** What the job needs at the very least, and what it is likely to need. */
function needs({ plan, image: sent }: PlanFacts): { least: Need; likely: Need; asked: number } {
  const imageBytes = sent?.bytes ?? 0;
  const known = plan.data.filter(({ expect }) => expect.bytes !== undefined);
  const sizeOf = ({ expect }: PlannedData): number => expect.bytes ?? 0;
  const least = known.reduce((sum, source) => sum + sizeOf(source), imageBytes);
  const files = plan.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const estimate = estimateDisk('auto', known, files, plan.environment?.size);
  const image = imageBytes > 0 ? [`${formatSize(imageBytes)} of image`] : [];
  return {
    least: {
      bytes: least,
      why: [...known.map((source) => `${formatSize(sizeOf(source))} of data.${source.name}`), ...image].join(
        ' + ',
      ),
    },
    likely: { bytes: estimate.bytes + imageBytes, why: [estimate.why, ...image].join(' + ') },
    asked: plan.disk.bytes,
  };
}

function short({ plan, where }: PlanFacts, what: string, need: Need): Found {
  const { diskBytes } = plan.spec.resources;
  const rounded = formatSize(Math.ceil((need.bytes * 1.1) / 1e9) * 1e9);
  const asked = formatSize(plan.disk.bytes);
  const disk = diskBytes === 'auto' ? `disk = "auto" comes to ${asked} and` : `disk = ${asked}`;
  return {
    message: `${disk} ${what}: ${formatSize(need.bytes)} needed (${need.why})`,
    fix: `set disk = "${rounded}" in [resources]`,
    place: where('resources', 'disk'),
  };
}
