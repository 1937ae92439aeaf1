import type { Use } from '../code/uses.ts';
import type { PlanFacts, SoftwareFacts } from '../facts.ts';
import type { Found, Rule } from '../../base/finding.ts';

export const imageRules: Rule<PlanFacts>[] = [
  {
    name: 'image-missing',
    level: 'error',
    about: 'The image is named by a path of this machine, and nothing is there.',
    check: ({ image, where }) =>
      image?.isThere !== false
        ? []
        : [
            {
              message: `the image ${image.path} is not there`,
              fix: 'correct the path, or name an image by its URL (docker://…, osdf:///….sif)',
              place: where('environment', 'image'),
            },
          ],
  },
];

/** Rules about the software that a job runs in, as it really is. */
export const softwareRules: Rule<SoftwareFacts>[] = [
  {
    name: 'tool-missing',
    level: 'error',
    about: 'A command that the job runs is not in its image or on its machine.',
    check: (facts) => lacking(facts, true, missingTools),
  },
  {
    name: 'module-missing',
    level: 'error',
    about: 'A Python module that the job imports is not in its image or on its machine.',
    check: (facts) => lacking(facts, true, missingModules),
  },
  {
    name: 'tool-perhaps-missing',
    level: 'warning',
    about: 'A command that the job runs, but can do without, is not there.',
    check: (facts) => lacking(facts, false, missingTools),
  },
  {
    name: 'module-perhaps-missing',
    level: 'warning',
    about: 'A Python module that is imported in a function or branch only is not there.',
    check: (facts) => lacking(facts, false, missingModules),
  },
];

function lacking(
  facts: SoftwareFacts,
  isCertain: boolean,
  look: (facts: SoftwareFacts) => (Use & Found)[],
): Found[] {
  return look(facts)
    .filter((use) => use.isCertain === isCertain)
    .map(({ message, fix, place }) => ({ message, fix, place }));
}

function missingTools({ uses, software }: SoftwareFacts): (Use & Found)[] {
  if (software === undefined) return [];
  const fix = software.isImage
    ? 'add it to the image, or do without: Updraft itself fetches and unpacks data, no wget, tar or unzip needed'
    : 'install it, or do without: Updraft itself fetches and unpacks data';
  return uses.tools
    .filter(({ name }) => !software.tools.has(name))
    .map((use) => ({ ...use, message: `\`${use.name}\` is not in ${software.where}`, fix }));
}

function missingModules({ uses: { modules }, software }: SoftwareFacts): (Use & Found)[] {
  if (software === undefined || modules.length === 0) return [];
  const { python, where, isImage } = software;
  if (python === undefined) {
    const [first] = modules;
    const fix = 'name an image with Python in [environment]';
    return first === undefined
      ? []
      : [{ ...first, isCertain: true, message: `there is no Python in ${where}`, fix }];
  }
  return modules
    .filter(({ name }) => !python.has.has(name))
    .map((use) => ({
      ...use,
      message: `the Python module \`${use.name}\` is not in ${where} (${python.path})`,
      fix: isImage
        ? 'add it to the image, or send it along in train.files; installing it in the job needs the network'
        : `install it for ${python.path}, or name an image in [environment]`,
    }));
}
