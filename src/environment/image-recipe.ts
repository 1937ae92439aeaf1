/** What a recipe is written for. */
export interface RecipeInput {
  /** Name of the manifest beside the recipe. */
  manifest: string;
  environment: string;
  /** The platform's name, where its subdir could mean another one, too. */
  platform?: string;
  /** CUDA the builder pretends to have: it has no GPU, and without one pixi would refuse the GPU build. */
  cuda?: string;
  /** Names what the image holds. */
  hash: string;
}

const builder = 'ghcr.io/prefix-dev/pixi:noble';
const base = 'ubuntu:24.04';
/** A script of the image that activates the environment and becomes the command it is given. */
export const imageEntry = '/usr/local/bin/in-environment';
const app = '/opt/environment';

const prefixOf = ({ environment }: RecipeInput): string => `${app}/.pixi/envs/${environment}`;

/** The commands that install the environment and write the script that activates it. */
function installing(input: RecipeInput): string[] {
  const { environment, platform, cuda } = input;
  const named = platform === undefined ? '' : ` --platform ${platform}`;
  return [
    ...(cuda === undefined ? [] : [`export CONDA_OVERRIDE_CUDA=${cuda}`]),
    `cd ${app}`,
    `pixi install --locked --environment ${environment}${named}`,
    compiling(input),
    // Unless told not to, it would install once more, for the platform that the building machine is.
    `{ echo '#!/bin/bash'; pixi shell-hook --environment ${environment} --shell bash --no-install; echo 'exec "$@"'; } > ${app}/entry.sh`,
    `chmod 755 ${app}/entry.sh`,
  ];
}

/**
 * Python compiles what it imports, and keeps that beside the source, unless the image is read-only: then every job's
 * start would take seconds longer. What is compiled here counts whatever times the files have after being copied.
 */
const compiling = (input: RecipeInput): string => {
  const prefix = prefixOf(input);
  const flags = '-qq -f -j 0 --invalidation-mode unchecked-hash';
  return `{ ${prefix}/bin/python -m compileall ${flags} ${prefix}/lib || true; }`;
};

const notice = ({ manifest, environment, hash }: RecipeInput): string[] => [
  `# The environment "${environment}" of ${manifest}, packages ${hash.slice(0, 8)}. Made by: updraft env image`,
  '# Only the environment is in the image: code and data travel with each job.',
];

/** A Dockerfile: installs in one stage, keeps only the environment in the next, at the same path. */
export function dockerfile(input: RecipeInput): string {
  const prefix = prefixOf(input);
  return [
    ...notice(input),
    `FROM ${builder} AS build`,
    `COPY ${input.manifest} pixi.lock ${app}/`,
    `RUN ${installing(input).join(' && \\\n    ')}`,
    '',
    `FROM ${base}`,
    `LABEL updraft.environment=${input.hash}`,
    `COPY --from=build ${prefix} ${prefix}`,
    `COPY --from=build ${app}/entry.sh ${imageEntry}`,
    '# Apptainer runs commands without the entry script: the environment is on the PATH for them too.',
    `ENV PATH=${prefix}/bin:$PATH CONDA_PREFIX=${prefix}`,
    `ENTRYPOINT ["${imageEntry}"]`,
    '',
  ].join('\n');
}

/** An Apptainer definition of the same image. */
export function apptainerDefinition(input: RecipeInput): string {
  const prefix = prefixOf(input);
  const indented = (lines: string[]): string[] => lines.map((line) => `    ${line}`);
  return [
    ...notice(input),
    'Bootstrap: docker',
    `From: ${builder}`,
    'Stage: build',
    '',
    '%files',
    ...indented([`${input.manifest} ${app}/${input.manifest}`, `pixi.lock ${app}/pixi.lock`]),
    '',
    '%post',
    ...indented(['set -e', ...installing(input)]),
    '',
    'Bootstrap: docker',
    `From: ${base}`,
    'Stage: final',
    '',
    '%labels',
    ...indented([`updraft.environment ${input.hash}`]),
    '',
    '%files from build',
    ...indented([`${prefix} ${prefix}`, `${app}/entry.sh ${imageEntry}`]),
    '',
    '%environment',
    ...indented([`export CONDA_PREFIX=${prefix}`, `export PATH=${prefix}/bin:$PATH`]),
    '',
    '%runscript',
    ...indented([`exec ${imageEntry} "$@"`]),
    '',
    '%test',
    ...indented([`${imageEntry} python --version`]),
    '',
  ].join('\n');
}
