import { stat } from 'node:fs/promises';
import path from 'node:path';
import { counted, sortFindings, given } from '@updraft/base';
import { checkFacts } from '../check/check-facts.ts';
import {
  type CommandText,
  type JobCode,
  type SentText,
  type NamedFile,
  namedFiles,
  programsOf,
  type Use,
  type Uses,
  usesOf,
  readCode,
} from '../check/code/read-code.ts';
import type { ImageFact, PlanFacts, SlotFacts, SoftwareFact, Where } from '../check/facts.ts';
import { analyseSlots } from '../check/rules/slots.ts';
import type { Plan } from '../job/plan.ts';
import { poolTraits } from '../job/pool-traits.ts';
import { joinVariants, variantNames, variantsOf } from '../job/variants.ts';
import { findSecrets } from '../job/secrets.ts';
import { problemAt, type SourceFile } from '../job/source-file.ts';
import type { Pool } from '../pool/pool.ts';
import type { Asking } from './asking.ts';
import { askHere } from './ask-here.ts';
import { askObjects, imageLabel, objectsOf } from './ask-objects.ts';
import { askSoftware, askVersions } from './ask-software.ts';
import {
  nothingGathered,
  type CheckReport,
  codeText,
  type Gathered,
  notChecked,
  reasonOf,
  sizesOf,
  withoutTokens,
  withSizes,
} from './gathered.ts';

/** What a check found, what it inspected, and what it could not. */
export interface Checked extends CheckReport {
  plan: Plan;
}

export interface CheckOptions {
  /** Only the fast part: the files, and the objects' servers. */
  quick?: boolean;
  /** A local copy of the image, to inspect instead. */
  image?: string | undefined;
}

const objectMs = { quick: 10_000, full: 60_000 };
const softwareMs = 120_000;
const quickSoftwareMs = 10_000;
const registryMs = 8000;
/** Modules that use the GPU through PyTorch. */
const usesTorch = /^(torch\w*|lightning|pytorch_lightning|transformers|timm|accelerate)$/;

/** Jobs that differ are checked one kind after the other; of very many kinds, only this many. */
const maxVariants = 20;

/** Gathers what can be known about the jobs of a file before they are queued, and applies the rules. */
export async function checkPlan(
  asking: Asking,
  { plan, source }: { plan: Plan; source: SourceFile },
  options: CheckOptions,
): Promise<Checked> {
  const where = linesOfKeys(source);
  const variants = variantsOf(plan);
  if (variants.length === 1) return await checkVariant(asking, plan, where, options);
  const checked: Checked[] = [];
  for (const one of variants.slice(0, maxVariants))
    checked.push(await checkVariant(asking, one, where, options));
  const sized = joinVariants(plan, [...checked.map((one) => one.plan), ...variants.slice(maxVariants)]);
  return { plan: sized, ...joinChecks(checked, plan, variants.length) };
}

/** What was found in several kinds of jobs, each once; what only some have says in which. */
function joinChecks(checked: readonly Checked[], plan: Plan, all: number): CheckReport {
  const found = Map.groupBy(
    checked.flatMap((one) => one.findings.map((finding) => ({ finding, plan: one.plan }))),
    ({ finding: { rule, file, line, message } }) => JSON.stringify([rule, file, line, message]),
  );
  const nameOf = variantNames(plan);
  const findings = [...found.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const { finding } = first;
    if (others.length + 1 === checked.length) return [finding];
    return [{ ...finding, message: `${finding.message} (${nameOf(first.plan)})` }];
  });
  const left = all - checked.length;
  const rest = {
    what: `${counted(left, 'other kind')} of jobs`,
    why: `only the first ${checked.length} are checked`,
  };
  return {
    findings: sortFindings(findings),
    looked: once(checked.flatMap((one) => one.looked)),
    unchecked: given(...once(checked.flatMap((one) => one.unchecked)), left > 0 && rest),
  };
}

const once = <T>(all: readonly T[]): T[] => [
  ...new Map(all.map((one) => [JSON.stringify(one), one])).values(),
];

/** Gathers what can be known about a job before it is queued, and applies the rules. */
async function checkVariant(
  asking: Asking,
  plan: Plan,
  where: Where,
  { quick = false, image }: CheckOptions,
): Promise<Checked> {
  const { code, unsent } = await readJobCode(plan, commandsOf(plan, where));
  const uses = neededBy(plan, code, where, unsent);
  const [here, registry, objects, slots, software, limits, sent] = await Promise.all([
    askHere(asking, plan, code),
    registryOf(asking, plan),
    askObjects(asking, objectsOf(plan, where), quick ? objectMs.quick : objectMs.full, plan.confirmed),
    quick ? nothingGathered : slotsOf(asking, plan, where),
    quick && !isPlainPython(plan, code) ? nothingGathered : softwareOf(asking, plan, uses, { quick, image }),
    poolOf(asking, plan).then((pool) => pool.limits(plan)),
    sentImage(plan),
  ]);
  const versions = await askVersions(plan, software.facts);
  const sizes = sizesOf(objects.facts.objects);
  const sized = withSizes(plan, sizes);
  const findings = checkFacts({
    plan: sized,
    where,
    limits,
    image: sent,
    registry: registry.facts,
    code,
    uses,
    now: asking.clock.now(),
    secrets: await findSecrets(plan, asking.env),
    fetchedImageBytes: sizes.get(imageLabel) ?? 0,
    ...objects.facts,
    slots: slots.facts,
    software: software.facts,
    versions: versions.facts,
    here: { ...here.facts, unsent },
  });
  const gathered = [here, registry, objects, slots, software, versions];
  const looked = gathered.flatMap((one) => one.looked);
  const unchecked = gathered.flatMap((one) => one.unchecked);
  return { plan: sized, ...withoutTokens({ findings, looked, unchecked }) };
}

async function registryOf(asking: Asking, { spec }: Plan): Promise<Gathered<ImageFact | undefined>> {
  const { image = '' } = spec.environment;
  if (!/^(?:docker|oras):/i.test(image)) return nothingGathered;
  return await (await import('./ask-registry.ts')).askRegistry(asking, image, registryMs);
}

/** Loaded while the objects' servers are asked. */
const poolOf = async (asking: Asking, plan: Plan): Promise<Pool> =>
  (await import('../pool/open-pool.ts')).openPool(plan.spec.run.pool, asking);

/** Commands that change which Python and modules the next ones find. */
const changesPython = new RegExp(
  '^(?:source|\\.|export|eval|conda|mamba|micromamba|module|ml|pixi|uv|poetry|pipenv|hatch|pip3?|' +
    'apptainer|singularity|docker|podman)$',
);

/** Whether the job's Python is the one that a plain shell finds, so that what it lacks is certain. */
const isPlainPython = ({ spec }: Plan, { commands }: JobCode): boolean =>
  !Object.keys(spec.train.env).some((name) => /^(?:PATH|PYTHON\w*|VIRTUAL_ENV)$/.test(name)) &&
  commands.every(
    ({ words }) =>
      !programsOf(words).some((program) => changesPython.test(program)) && !words.includes('pip'),
  );

/** This machine's software is found in a moment; an image, or PyTorch's CUDA, takes longer. */
async function softwareOf(
  asking: Asking,
  { spec, folder, environment }: Plan,
  uses: Uses,
  { quick = false, image: copy }: CheckOptions,
): Promise<Gathered<SoftwareFact | undefined>> {
  const isHere = poolTraits[spec.run.pool].runsHere;
  const image = copy === undefined ? spec.environment.image : path.resolve(asking.cwd, copy);
  if (quick && (!isHere || image !== undefined || environment !== undefined)) return nothingGathered;
  const usesGpu = spec.resources.gpus > 0 && uses.modules.some(({ name }) => usesTorch.test(name));
  const question = {
    image,
    folder,
    isPacked: environment?.pack !== undefined,
    isHere,
    declared: spec.environment.python,
    wantCuda: usesGpu && !quick,
    uses,
  };
  return await askSoftware(asking, question, quick ? quickSoftwareMs : softwareMs);
}

/** The places of the keys in a job file. */
const linesOfKeys =
  (source: SourceFile): Where =>
  (...key) => {
    const { file, line } = problemAt(source, key, '');
    return { file, line };
  };

function commandsOf({ spec, jobs }: Plan, where: Where): CommandText[] {
  const { command, check } = jobs[0]?.train ?? spec.train;
  return given(
    { text: command, place: where('train', 'command') },
    check !== undefined && { text: check, place: where('train', 'check') },
  );
}

/** What the code uses, what the job file declares, and what the agent needs in an image to unpack itself. */
function neededBy({ spec, files }: Plan, code: JobCode, where: Where, unsent: readonly NamedFile[]): Uses {
  const { image, python } = spec.environment;
  const found = usesOf(code, [...files.map((file) => file.path), ...unsent.map(({ file }) => file)]);
  const declared = (names: readonly string[], key: string, known: readonly Use[]): Use[] =>
    names
      .filter((name) => !known.some((use) => use.name === name))
      .map((name) => ({ name, place: where('environment', key), isCertain: true }));
  const ours = image === undefined ? [] : poolTraits[spec.run.pool].imageTools;
  const roots = [...new Set(python.map((name) => name.split('.')[0] ?? name))];
  return {
    ...found,
    tools: [...found.tools, ...declared(ours, 'image', found.tools)],
    modules: [...found.modules, ...declared(roots, 'python', found.modules)],
  };
}

/** Only an image that is sent from here takes space in the job's sandbox; others are read in place. */
async function sentImage({ spec, folder }: Plan): Promise<PlanFacts['image']> {
  const { image } = spec.environment;
  if (image === undefined || image.includes('://') || image.startsWith('/cvmfs/')) return undefined;
  const place = path.resolve(folder, image);
  const found = await stat(place).catch(() => undefined);
  const isSent = !poolTraits[spec.run.pool].needsImageHere && found?.isFile() === true;
  return { path: place, isThere: found !== undefined, bytes: isSent ? found.size : 0 };
}

async function slotsOf(asking: Asking, plan: Plan, where: Where): Promise<Gathered<SlotFacts | undefined>> {
  try {
    const facts = await (await poolOf(asking, plan)).slots(plan, where);
    if (facts === undefined) return nothingGathered;
    if (facts.isUnreadable === true) return { facts, looked: [], unchecked: [] };
    const { total, matching, free } = analyseSlots(facts);
    const said = `${matching} of ${total} match, ${free} with free resources now`;
    return { facts, looked: [{ what: 'machines of the pool', said }], unchecked: [] };
  } catch (error) {
    asking.signal.throwIfAborted();
    return notChecked(undefined, 'machines of the pool', reasonOf(error));
  }
}

const maxFiles = 2000;
/** A file that is not sent may import others that are not sent, and so on. */
const maxRounds = 8;

/** The code of a job, with the files of its folder that it needs but does not send. */
async function readJobCode(
  plan: Plan,
  commands: readonly CommandText[],
): Promise<{ code: JobCode; unsent: NamedFile[] }> {
  const texts = await readTexts(plan);
  const unsent = new Map<string, NamedFile>();
  for (let round = 0; round < maxRounds; round++) {
    const found = await findUnsent(plan, namedFiles(readCode(commands, texts)), unsent);
    if (found.length === 0) break;
    for (const one of found) {
      unsent.set(one.file, one);
      const text = await codeText(path.join(plan.folder, one.file));
      if (text !== undefined) texts.push({ file: one.file, text });
    }
  }
  return { code: readCode(commands, texts), unsent: [...unsent.values()] };
}

async function findUnsent(
  { folder, files, data, spec }: Plan,
  named: readonly NamedFile[],
  known: ReadonlyMap<string, NamedFile>,
): Promise<NamedFile[]> {
  const sent = files.map((file) => file.path);
  const made = [...data.map(({ into }) => into), ...spec.train.outputs];
  // After a `cd`, a command names only the end of a path.
  const isSent = (file: string): boolean => sent.some((one) => `/${one}/`.includes(`/${file}/`));
  const isMade = (file: string): boolean =>
    made.some((one) => one === '.' || `${file}/`.startsWith(`${one}/`));
  const wanted = named.filter(
    ({ file }) => !file.startsWith('..') && !known.has(file) && !isSent(file) && !isMade(file),
  );
  // The use that is certain counts.
  const order = ['names', 'imports', 'runs'];
  const sorted = wanted.toSorted((a, b) => order.indexOf(a.use) - order.indexOf(b.use));
  const first = new Map(sorted.map((one) => [one.file, one]));
  const there = await Promise.all(
    [...first.values()].slice(0, maxFiles).map(async (one) => {
      const found = await stat(path.join(folder, one.file)).catch(() => undefined);
      return found?.isFile() === true || (one.use === 'runs' && found?.isDirectory() === true) ? [one] : [];
    }),
  );
  return there.flat();
}

async function readTexts({ folder, files }: Plan): Promise<SentText[]> {
  const texts: SentText[] = [];
  for (const { path: file } of files.slice(0, maxFiles)) {
    const text = await codeText(path.join(folder, file));
    if (text !== undefined) texts.push({ file, text });
  }
  return texts;
}
