import { usesOf, type Use } from '../code/uses.ts';
import type { Facts, SoftwareFacts } from '../facts.ts';
import type { Found, Rule } from '../finding.ts';

type SoftwareRuleFacts = SoftwareFacts & { sent: readonly string[] };
type CudaFacts = Pick<Facts, 'software' | 'plan' | 'where'>;

/** Rules about the software that a job runs in, as it really is. */
export const softwareRules: Rule<SoftwareRuleFacts>[] = [
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
  facts: SoftwareRuleFacts,
  isCertain: boolean,
  look: (facts: SoftwareRuleFacts) => (Use & Found)[],
): Found[] {
  return look(facts)
    .filter((use) => use.isCertain === isCertain)
    .map(({ message, fix, place }) => ({ message, fix, place }));
}

function missingTools({ code, software, sent }: SoftwareRuleFacts): (Use & Found)[] {
  if (software === undefined) return [];
  const fix = software.isImage
    ? 'add it to the image, or do without: Updraft itself fetches and unpacks data, no wget, tar or unzip needed'
    : 'install it, or do without: Updraft itself fetches and unpacks data';
  return usesOf(code, sent)
    .tools.filter(({ name }) => !software.tools.has(name))
    .map((use) => ({ ...use, message: `\`${use.name}\` is not in ${software.where}`, fix }));
}

function missingModules({ code, software, sent }: SoftwareRuleFacts): (Use & Found)[] {
  const { modules } = usesOf(code, sent);
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

/** Rules about CUDA: what PyTorch was built with against what the driver must support. */
export const cudaRules: Rule<CudaFacts>[] = [
  {
    name: 'cuda-none',
    level: 'error',
    about: "GPUs are asked for and the environment's PyTorch is a build without CUDA.",
    check: ({ software, plan, where }) =>
      software?.cuda !== 'none' || plan.spec.resources.gpus === 0
        ? []
        : [
            {
              message: `PyTorch in ${software.where} has no CUDA, and the job asks for ${plan.spec.resources.gpus} GPU: it would idle`,
              fix: 'use an image or environment with a CUDA build of PyTorch, or set gpus = 0',
              place: where('resources', 'gpus'),
            },
          ],
  },
  {
    name: 'cuda-driver',
    level: 'error',
    about:
      'The driver condition allows machines whose driver is a major version older than the CUDA of PyTorch.',
    check: (facts) => driver(facts, ([env], [asked]) => asked < env),
  },
  {
    name: 'cuda-driver-minor',
    level: 'warning',
    about:
      'The driver condition is a minor version below the CUDA of PyTorch: most of it works there, not all.',
    check: (facts) => driver(facts, ([env, minor], [asked, low]) => asked === env && low < minor),
  },
  {
    name: 'cuda-unconditioned',
    level: 'warning',
    about: 'GPUs are asked for without a condition on the driver, and PyTorch needs one that is new enough.',
    check: ({ software, plan, where }) => {
      const { gpus, gpu } = plan.spec.resources;
      const cuda = software?.cuda;
      if (cuda === undefined || cuda === 'none' || gpus === 0 || gpu?.cuda !== undefined) return [];
      return [
        {
          message: `PyTorch in ${software?.where ?? ''} is built with CUDA ${cuda}, and any driver will do for this job: on an older one it fails after its data has travelled`,
          fix: `set gpu = { cuda = "${cuda}" } in [resources]`,
          place: where('resources', 'gpu'),
        },
      ];
    },
  },
];

type Version = [major: number, minor: number];

function driver(
  { software, plan, where }: CudaFacts,
  isBad: (environment: Version, asked: Version) => boolean,
): Found[] {
  const { gpus, gpu } = plan.spec.resources;
  const cuda = software?.cuda;
  if (software === undefined || gpus === 0 || gpu?.cuda === undefined) return [];
  const [environment, asked] = [versionOf(cuda ?? ''), versionOf(gpu.cuda)];
  if (environment === undefined || asked === undefined || !isBad(environment, asked)) return [];
  return [
    {
      message: `gpu.cuda = "${gpu.cuda}", but PyTorch in ${software.where} is built with CUDA ${cuda ?? ''}`,
      fix: `set gpu = { cuda = "${cuda ?? ''}" } in [resources]`,
      place: where('resources', 'gpu', 'cuda'),
    },
  ];
}

function versionOf(text: string): Version | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}
