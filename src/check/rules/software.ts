import path from 'node:path';
import {
  asFound,
  counted,
  editDistance,
  firstFew,
  type Found,
  nearest,
  type Rule,
  type RuleResult,
  rule,
  levelIf,
} from '@updraft/base';
import { poolTraits } from '../../job/pool-traits.ts';
import type { Use } from '../code/read-code.ts';
import type { Facts, PlanFacts, SoftwareFact, SoftwareFacts } from '../facts.ts';

/** `pytorch/pytorch:latest` is the name that `docker pull` takes. */
function imageFix(name: string): string {
  const isRegistryName = /^\w[\w.-]*(\/[\w.-]+)*(:[\w.-]+)?$/.test(name) && !/\.(sif|img)$/.test(name);
  return isRegistryName
    ? `write docker://${name} if it is in a registry, or correct the path`
    : 'correct the path, or name an image by its URL (docker://…, osdf:///….sif)';
}

export const imageRules: Rule<PlanFacts>[] = [
  rule(
    'image-missing',
    'error',
    'The image does not exist: neither its local path, nor its name in the registry.',
    ({ image, registry, plan, where }) => {
      const place = where('environment', 'image');
      if (image?.isThere === false)
        return asFound(
          `the image ${image.path} does not exist`,
          imageFix(path.relative(plan.folder, image.path)),
          place,
        );
      if (registry === undefined || registry.status === 200) return [];
      const { url, host, status } = registry;
      if (status === 404) return asFound(`${host} has no image ${url}`, 'correct its name and tag', place);
      // On this machine, the user may be logged in.
      if (poolTraits[plan.spec.run.pool].runsHere) return [];
      return asFound(
        `${host} answers ${status} for ${url}: it does not exist, or is private, and workers cannot log in`,
        'correct its name and tag, make it public, or send it as a .sif file',
        place,
      );
    },
  ),
  rule(
    'software-fallback',
    'warning',
    "The Pixi environment is not available on this machine, so the machine's own software is used.",
    ({ plan: { environment }, where }) => {
      const { fallback } = environment ?? {};
      if (fallback === undefined) return [];
      const message = `this machine's own software is used, not the Pixi environment: ${fallback.why}`;
      return [asFound(message, fallback.fix, where('environment', 'fallback'))];
    },
  ),
];

/** Rules about the software that a job runs in. */
export const softwareRules: Rule<SoftwareFacts>[] = [
  rule(
    'tool-missing',
    'error',
    'A command that the job runs is not in its image or on its machine; a warning if the job can do without it.',
    (facts) => missingTools(facts).map(levelled),
  ),
  rule(
    'module-missing',
    'error',
    'A Python module that the job imports, a warning if only in a function or branch, is not in its image or on its ' +
      'machine.',
    (facts) => missingModules(facts).map(levelled),
  ),
  rule(
    'version-differs',
    'warning',
    'requirements.txt, environment.yml or pyproject.toml asks for another version than the job will have.',
    ({ versions, uses: { modules } }) => {
      const isImported = (name: string): boolean =>
        name === 'python' ||
        modules.some((use) => use.name === (installedAs.get(name) ?? name.replaceAll('-', '_')));
      const apart = versions?.unmet.filter(({ name }) => isImported(name)) ?? [];
      if (versions === undefined || apart.length === 0) return [];
      const shown = apart.map(({ name, spec, has }) => `${name} ${has} (wanted: ${spec})`);
      return {
        message: `other versions ${versions.where} than ${versions.file} wants: ${firstFew(shown, 4)}`,
        fix: `install those, or correct ${versions.file}: the training may need what another version lacks`,
      };
    },
  ),
];

const levelled = ({ message, fix, place, isCertain }: Use & Found): Found => ({
  ...asFound(message, fix, place),
  level: levelIf(isCertain),
});

const at = ({ where, isImage }: { where: string; isImage: boolean }): string =>
  `${isImage ? 'in' : 'on'} ${where}`;

/** Programs that jobs fetch and unpack their data with. */
const fetches = /^(?:wget|curl|aria2c|tar|unzip|gunzip|gzip|bunzip2|unxz|xz|zstd|7z)$/;

/** Programs that a bare machine often lacks. */
const rare = /^(?:unzip|7z|aria2c|zstd|rsync|git|jq|conda|parallel)$/;

function missingTools({ uses, software }: SoftwareFacts): (Use & Found)[] {
  if (software === undefined)
    return uses.tools
      .filter(({ name }) => rare.test(name))
      .map((use) => ({
        ...use,
        isCertain: false,
        message: `\`${use.name}\` is not on every machine, and no image with it is known`,
        fix: 'name an image with it in [environment]; data needs none: Updraft itself fetches and unpacks it',
      }));
  return uses.tools
    .filter(({ name }) => !software.tools.has(name))
    .map((use) => ({
      ...use,
      message: `\`${use.name}\` is not ${at(software)}`,
      fix: toolFix(use.name, software),
    }));
}

function toolFix(name: string, { isImage, python }: SoftwareFact): string {
  const other = python === undefined ? '' : path.posix.basename(python.path);
  if (/^python[\d.]*$/.test(name) && other !== '' && other !== name)
    return `write ${other} instead of ${name}: it is there (${python?.path ?? ''})`;
  const add = isImage ? 'add it to the image' : 'install it, or name an image with it in [environment]';
  return fetches.test(name)
    ? `${add}, or do without: Updraft itself fetches and unpacks data, without wget, tar or unzip`
    : add;
}

function missingModules({ uses: { modules }, software }: SoftwareFacts): (Use & Found)[] {
  if (software === undefined || modules.length === 0) return [];
  const { python, isImage } = software;
  if (python === undefined) {
    const [first] = modules;
    const fix = 'name an image with Python in [environment]';
    return first === undefined
      ? []
      : [{ ...first, isCertain: true, message: `there is no Python ${at(software)}`, fix }];
  }
  return modules
    .filter(({ name }) => !python.has.has(name))
    .map((use) => ({
      ...use,
      message: `the Python module \`${use.name}\` is not ${at(software)} (${python.path})`,
      fix: `${meant(use.name)}${
        isImage
          ? 'add it to the image, or send it with train.files; installing it in the job needs the network'
          : `install it for ${python.path}, or name an image in [environment]`
      }`,
    }));
}

/** Modules that trainings import, and the names under which some of them are installed. */
const known = `
  torch torchvision torchaudio torchtext torchmetrics lightning pytorch_lightning numpy scipy pandas
  sklearn matplotlib seaborn PIL cv2 skimage tqdm yaml h5py transformers datasets tokenizers accelerate
  diffusers timm einops tensorboard wandb hydra omegaconf tensorflow keras jax flax optax xgboost lightgbm
  catboost joblib nltk spacy gensim safetensors sentencepiece albumentations webdataset monai networkx
  requests psutil zarr pyarrow polars numba cupy
`
  .trim()
  .split(/\s+/);
const installedAs = new Map(
  Object.entries({
    'scikit-learn': 'sklearn',
    'scikit-image': 'skimage',
    'opencv-python': 'cv2',
    'opencv-python-headless': 'cv2',
    opencv: 'cv2',
    pillow: 'PIL',
    pyyaml: 'yaml',
    'pytorch-lightning': 'pytorch_lightning',
    pytorch: 'torch',
  }),
);

/** `did you mean …?` for a mistyped module, or for the name of a package instead of its module. */
function meant(name: string): string {
  if (known.includes(name)) return '';
  const close = nearest(name, known);
  // Half of a short name is soon like another: only a slip of the fingers counts.
  const isSlip = close !== undefined && editDistance(name, close) <= (name.length < 6 ? 1 : 2);
  const module = installedAs.get(name.toLowerCase()) ?? (isSlip ? close : undefined);
  return module === undefined ? '' : `did you mean "${module}"? If not: `;
}

type CudaFacts = Pick<Facts, 'software' | 'plan' | 'where'>;

/** The CUDA that PyTorch was built with, and where PyTorch is: `on this machine`, `in the image x.sif`. */
interface Build {
  /** `none`: without CUDA. */
  cuda: string;
  where: string;
}

/** What PyTorch was built with against what the driver must support. */
export const cudaRules: Rule<CudaFacts>[] = [
  rule(
    'cuda',
    'error',
    'PyTorch is built without CUDA, or for a newer one than the driver condition assures; a warning without one.',
    cudaProblem,
  ),
];

/** From the image itself, if it could be inspected, else from the lock of its environment. */
function buildOf({ software, plan }: CudaFacts): Build | undefined {
  if (software?.cuda !== undefined) return { cuda: software.cuda, where: at(software) };
  const locked = plan.environment?.facts;
  if (locked?.torch === undefined) return undefined;
  const cuda = locked.torch.build === 'cpu' ? 'none' : (locked.needs.cuda ?? locked.torch.cuda);
  return cuda === undefined ? undefined : { cuda, where: `in the Pixi environment ${locked.environment}` };
}

function cudaProblem(facts: CudaFacts): RuleResult {
  const { gpus, gpu } = facts.plan.spec.resources;
  const build = buildOf(facts);
  if (build === undefined || gpus === 0) return [];
  if (build.cuda === 'none')
    return asFound(
      `PyTorch ${build.where} has no CUDA, but the job requests ${counted(gpus, 'GPU')}, which would idle`,
      'use an image or environment with a CUDA build of PyTorch, or set gpus = 0',
      facts.where('resources', 'gpus'),
    );
  const [major, minor] = versionOf(build.cuda);
  const [asked, low] = versionOf(gpu?.cuda ?? '0.0');
  if (!(asked < major || (asked === major && low < minor))) return [];
  return {
    level: levelIf(gpu?.cuda !== undefined && asked < major),
    message:
      `PyTorch ${build.where} is built with CUDA ${build.cuda}, but the job accepts ` +
      `${gpu?.cuda === undefined ? 'any driver' : `drivers for CUDA ${gpu.cuda}`}: older ones fail`,
    fix: `set gpu = { cuda = "${build.cuda}" } in [resources]`,
    place: facts.where('resources', 'gpu', ...(gpu?.cuda === undefined ? [] : ['cuda'])),
  };
}

/** Neither number of what is no version is less than another. */
function versionOf(text: string): [major: number, minor: number] {
  const [major = NaN, minor = NaN] = text.split('.').map(Number);
  return [major, minor];
}
