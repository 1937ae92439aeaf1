import { hash } from 'node:crypto';
import { defined } from '@updraft/base';
import { distinguishingParameters, nameCells } from '@updraft/account/parameters';
import { placeholderValues } from './expand.ts';
import type { Plan, PlannedData, Variant } from './plan.ts';

/** The plan as each variant's jobs have it, with those jobs only; the plan itself, if all have the same. */
export function variantsOf(plan: Plan): Plan[] {
  const { variants } = plan;
  if (variants === undefined) return [plan];
  const byId = new Map(plan.jobs.map((job) => [job.id, job]));
  return variants
    .map((variant) =>
      withVariant(
        plan,
        variant,
        variant.jobs.flatMap((id) => byId.get(id) ?? []),
      ),
    )
    .filter(({ jobs }) => jobs.length > 0);
}

export function planOfJob(plan: Plan, id: string): Plan {
  const variant = plan.variants?.find(({ jobs }) => jobs.includes(id));
  return variant === undefined ? plan : withVariant(plan, variant, plan.jobs);
}

function withVariant(plan: Plan, variant: Variant, jobs: Plan['jobs']): Plan {
  const { data, disk, environment, imageTokenFile, imageMark, confirmed } = variant;
  const { software, resources, requirements } = variant;
  const run = defined({ ...plan.spec.run, requirements });
  return defined({
    ...plan,
    variants: undefined,
    jobs,
    data,
    disk,
    environment,
    imageTokenFile,
    imageMark,
    confirmed,
    spec: { ...plan.spec, environment: software, resources, run },
  });
}

/** A plan of these variants, with all jobs of `plan`. */
export function joinVariants({ jobs, variedBy }: Plan, plans: readonly Plan[]): Plan {
  const [first] = plans;
  if (first === undefined) throw new Error('a plan has at least one job');
  const variants = plans.length === 1 ? undefined : plans.map(toVariant);
  return { ...first, jobs, ...defined({ variedBy, variants }) };
}

const toVariant = ({ jobs, data, disk, spec, ...plan }: Plan): Variant => ({
  jobs: jobs.map(({ id }) => id),
  data,
  disk,
  software: spec.environment,
  resources: spec.resources,
  ...defined({
    environment: plan.environment,
    imageTokenFile: plan.imageTokenFile,
    imageMark: plan.imageMark,
    confirmed: plan.confirmed,
    requirements: spec.run.requirements,
  }),
});

/** The plan of all these jobs, each read with its own parameters. */
export function planVariants(plans: readonly [Plan, ...Plan[]], variedBy: string[]): Plan {
  const [first, ...others] = plans;
  if (others.length === 0) return first;
  const jobs = plans.flatMap((plan) => plan.jobs).sort((a, b) => Number(a.id) - Number(b.id));
  const planHash = hash('sha256', plans.map((plan) => plan.planHash).join('\n'));
  return { ...joinVariants({ ...first, jobs, variedBy }, withMarks(plans)), planHash };
}

/** Names the variants of a plan by what distinguishes them: `method=osdf gpus=1`. */
export function variantNames(plan: Plan): (variant: Plan) => string {
  const firsts = variantsOf(plan).flatMap(({ jobs }) => jobs.slice(0, 1));
  const cells = firsts.map((job) => placeholderValues({ ...job, index: Number(job.id) }));
  const texts = nameCells(cells, distinguishingParameters(cells, plan.variedBy ?? []));
  const names = new Map(firsts.map(({ id }, at) => [id, texts[at]]));
  return ({ jobs: [job] }) => names.get(job?.id ?? '') ?? '';
}

/** What goes by one name in the run's folder, but differs, gets a number from the second on. */
function withMarks(plans: readonly Plan[]): Plan[] {
  const known = new Map<string, string[]>();
  const markOf = (name: string, content: readonly unknown[]): number | undefined => {
    const [all, text] = [known.get(name) ?? [], JSON.stringify(content)];
    known.set(name, all);
    if (!all.includes(text)) all.push(text);
    return all.indexOf(text) === 0 ? undefined : all.indexOf(text) + 1;
  };
  const marked = (source: PlannedData): PlannedData => ({
    ...source,
    ...defined({ mark: markOf(source.name, [source.url, source.tokenFile]) }),
  });
  return plans.map((plan) => {
    const { environment, imageTokenFile, spec } = plan;
    return {
      ...plan,
      data: plan.data.map(marked),
      ...(environment?.pack !== undefined && {
        environment: { ...environment, pack: marked(environment.pack) },
      }),
      ...defined({ imageMark: markOf('image', [spec.environment.image, imageTokenFile]) }),
    };
  });
}
