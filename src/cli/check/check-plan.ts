import { stat } from 'node:fs/promises';
import path from 'node:path';
import { counted, sortFindings } from '@updraft/base';
import { checkFacts } from '../../check/check-facts.ts';
import type { CommandText, JobCode } from '../../check/code/code.ts';
import type { NamedFile } from '../../check/code/named-files.ts';
import { programsOf, type Use, type Uses, usesOf } from '../../check/code/uses.ts';
import type { ImageFact, PlanFacts, SlotFacts, SoftwareFact, Where } from '../../check/facts.ts';
import { analyseSlots } from '../../check/rules/slots.ts';
import { Fault } from '../../fault/fault.ts';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { joinVariants, variantNames, variantsOf } from '../../job/variants.ts';
import { findSecrets } from '../../job/secrets.ts';
import { problemAt, type SourceFile } from '../../job/source-file.ts';
import { trustElsewhere } from '@updraft/pelican/trust';
import type { Pool } from '../../pool/pool.ts';
import type { Cli } from '../cli.ts';
import { askHere } from './ask-here.ts';
import { askObjects, imageLabel, objectsOf } from './ask-objects.ts';
import { askSoftware } from './ask-software.ts';
import { readJobCode } from './read-job-code.ts';
import { countFindings, findingLines } from './check-text.ts';
import {
  type Gathered,
  notChecked,
  reasonOf,
  sizesOf,
  type CheckReport,
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
  cli: Cli,
  { plan, source }: { plan: Plan; source: SourceFile },
  options: CheckOptions,
): Promise<Checked> {
  const where = linesOfKeys(source);
  const variants = variantsOf(plan);
  if (variants.length === 1) return await checkVariant(cli, plan, where, options);
  const checked: Checked[] = [];
  for (const one of variants.slice(0, maxVariants))
    checked.push(await checkVariant(cli, one, where, options));
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
    unchecked: [...once(checked.flatMap((one) => one.unchecked)), ...(left > 0 ? [rest] : [])],
  };
}

const once = <T>(all: readonly T[]): T[] => [
  ...new Map(all.map((one) => [JSON.stringify(one), one])).values(),
];

/** Gathers what can be known about a job before it is queued, and applies the rules. */
async function checkVariant(
  cli: Cli,
  plan: Plan,
  where: Where,
  { quick = false, image }: CheckOptions,
): Promise<Checked> {
  const { code, unsent } = await readJobCode(plan, commandsOf(plan, where));
  const uses = neededBy(plan, code, where, unsent);
  const [here, registry, objects, slots, software, limits, sent] = await Promise.all([
    askHere(cli, plan, code, quick),
    registryOf(cli, plan),
    askObjects(cli, objectsOf(plan, where), quick ? objectMs.quick : objectMs.full, {
      confirmed: plan.confirmed,
      trust: poolTraits[plan.spec.run.pool].sharesFolder ? undefined : trustElsewhere(cli.env),
    }),
    quick ? nothingGathered() : slotsOf(cli, plan, where),
    quick && !isPlainPython(plan, code) ? nothingGathered() : softwareOf(cli, plan, uses, { quick, image }),
    poolOf(cli, plan).then((pool) => pool.limits(plan)),
    sentImage(plan),
  ]);
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
    now: cli.clock.now(),
    secrets: await findSecrets(plan, cli.env),
    fetchedImageBytes: sizes.get(imageLabel) ?? 0,
    ...objects.facts,
    slots: slots.facts,
    software: software.facts,
    here: { ...here.facts, unsent },
  });
  const gathered = [here, registry, objects, slots, software];
  const looked = gathered.flatMap((one) => one.looked);
  const unchecked = gathered.flatMap((one) => one.unchecked);
  return { plan: sized, ...withoutTokens({ findings, looked, unchecked }) };
}

async function registryOf(cli: Cli, { spec }: Plan): Promise<Gathered<ImageFact | undefined>> {
  const { image = '' } = spec.environment;
  if (!/^(?:docker|oras):/i.test(image)) return await nothingGathered();
  return await (await import('./ask-registry.ts')).askRegistry(cli, image, registryMs);
}

/** Loaded while the objects' servers are asked. */
const poolOf = async (cli: Cli, plan: Plan): Promise<Pool> =>
  (await import('../../pool/open-pool.ts')).openPool(plan.spec.run.pool, cli);

/** Commands that change which Python and modules the next ones find. */
const changesPython =
  /^(?:source|\.|export|eval|conda|mamba|micromamba|module|ml|pixi|uv|poetry|pipenv|hatch|pip3?|apptainer|singularity|docker|podman)$/;

/** Whether the job's Python is the one that a plain shell finds, so that what it lacks is certain. */
const isPlainPython = ({ spec }: Plan, { commands }: JobCode): boolean =>
  !Object.keys(spec.train.env).some((name) => /^(?:PATH|PYTHON\w*|VIRTUAL_ENV)$/.test(name)) &&
  commands.every(
    ({ words }) =>
      !programsOf(words).some((program) => changesPython.test(program)) && !words.includes('pip'),
  );

/** This machine's software is found in a moment; an image, or PyTorch's CUDA, takes longer. */
async function softwareOf(
  cli: Cli,
  { spec, folder, environment }: Plan,
  uses: Uses,
  { quick = false, image: copy }: CheckOptions,
): Promise<Gathered<SoftwareFact | undefined>> {
  const isHere = poolTraits[spec.run.pool].runsHere;
  const image = copy === undefined ? spec.environment.image : path.resolve(cli.cwd, copy);
  if (quick && (!isHere || image !== undefined || environment !== undefined)) return await nothingGathered();
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
  return await askSoftware(cli, question, quick ? quickSoftwareMs : softwareMs);
}

const nothingGathered = (): Promise<Gathered<undefined>> =>
  Promise.resolve({ facts: undefined, looked: [], unchecked: [] });

/** The places of the keys in a job file. */
const linesOfKeys =
  (source: SourceFile): Where =>
  (...key) => {
    const { file, line } = problemAt(source, key, '');
    return { file, line };
  };

function commandsOf({ spec, jobs }: Plan, where: Where): CommandText[] {
  const { command, check } = jobs[0]?.train ?? spec.train;
  return [
    { text: command, place: where('train', 'command') },
    ...(check === undefined ? [] : [{ text: check, place: where('train', 'check') }]),
  ];
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

async function slotsOf(cli: Cli, plan: Plan, where: Where): Promise<Gathered<SlotFacts | undefined>> {
  try {
    const facts = await (await poolOf(cli, plan)).slots(plan, where);
    if (facts === undefined) return await nothingGathered();
    if (facts.isUnreadable === true) return { facts, looked: [], unchecked: [] };
    const { total, matching, free } = analyseSlots(facts);
    const said = `${matching} of ${total} match, ${free} with free resources now`;
    return { facts, looked: [{ what: 'machines of the pool', said }], unchecked: [] };
  } catch (error) {
    cli.signal.throwIfAborted();
    return notChecked(undefined, 'machines of the pool', reasonOf(error));
  }
}

/**
 * The quick check before a new run is created: refuses what would surely fail, and only mentions the rest. A resumed
 * run was checked when it was created.
 */
export async function checkBeforeSubmit(
  cli: Cli,
  words: string,
  job: { plan: Plan; source: SourceFile },
  isNew: boolean,
): Promise<void> {
  const { findEarlier } = await import('../../run/submit-run.ts');
  const { same } = await findEarlier(job.plan);
  if (same !== undefined && !isNew) return;
  const { findings } = await checkPlan(cli, job, { quick: true });
  const errors = findings.filter(({ level }) => level === 'error');
  const rest = findings.filter(({ level }) => level === 'warning');
  const again = `updraft check${words}`;
  if (errors.length > 0) {
    cli.err(`${findingLines(errors, Number.POSITIVE_INFINITY).join('\n')}\n`);
    // A missing secret cannot be sent to the jobs, checked or not.
    const mayQueue = !errors.some(({ rule }) => rule === 'secret-missing');
    throw new Fault(
      'file-invalid',
      `${job.plan.file}: ${counted(errors.length, 'error')}; nothing was queued`,
      {
        fix: `apply the ${errors.length === 1 ? 'fix' : 'fixes'} above${mayQueue ? ', or submit anyway with --no-check' : ''}`,
        about: job.plan.file,
      },
    );
  }
  if (rest.length > 0)
    cli.err(`${countFindings(rest)}; \`${again}\` lists ${rest.length === 1 ? 'it' : 'them'}\n`);
}
