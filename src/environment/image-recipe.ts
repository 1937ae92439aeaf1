export interface RecipeInput {
  /** Name of the manifest, which is beside the recipe. */
  manifest: string;
  environment: string;
  /** The platform's name, if its subdir is ambiguous. */
  platform?: string;
  /** CUDA version the builder pretends to have: without a GPU, pixi would refuse the GPU build. */
  cuda?: string;
  /** Identifies the packages in the image. */
  hash: string;
  /** The agent's file, beside the recipe. */
  agent?: string | undefined;
}

const builder = 'ghcr.io/prefix-dev/pixi:noble';
const base = 'ubuntu:24.04';
/** A script in the image that activates the environment and executes the command it is given. */
export const imageEntry = '/usr/local/bin/in-environment';
/** Where an image has the agent. */
export const agentFolder = '/usr/local/bin';
const app = '/opt/environment';

const prefixOf = ({ environment }: RecipeInput): string => `${app}/.pixi/envs/${environment}`;

/** The commands that install the environment and write the script that activates it. */
function installing(input: RecipeInput): string[] {
  const { environment, platform, cuda } = input;
  const named = platform === undefined ? '' : ` --platform ${platform}`;
  return given(
    cuda !== undefined && `export CONDA_OVERRIDE_CUDA=${cuda}`,
    `cd ${app}`,
    `pixi install --locked --environment ${environment}${named}`,
    compiling(input),
    // By default it would install again, for the platform of the building machine.
    `{ echo '#!/bin/bash'; pixi shell-hook --environment ${environment} ` +
      `--shell bash --no-install; echo 'exec "$@"'; } > ${app}/entry.sh`,
    `chmod 755 ${app}/entry.sh`,
  );
}

/**
 * Python stores compiled modules beside their source; in a read-only image it cannot, and every job would start seconds
 * later. Unchecked hashes keep the compiled files valid when copying changes the times.
 */
const compiling = (input: RecipeInput): string => {
  const prefix = prefixOf(input);
  const flags = '-qq -f -j 0 --invalidation-mode unchecked-hash';
  return `{ ${prefix}/bin/python -m compileall ${flags} ${prefix}/lib || true; }`;
};

const notice = ({ manifest, environment, hash }: RecipeInput): string[] => [
  `# The environment "${environment}" of ${manifest}, packages ${hash.slice(0, 8)}. Made by: updraft env image`,
  '# The image holds only the environment: code and data travel with each job.',
];

/** A Dockerfile that installs in one stage and keeps only the environment in the next, at the same path. */
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
    ...(input.agent === undefined ? [] : [`COPY ${input.agent} ${agentFolder}/`]),
    '# Apptainer runs commands without the entry script, so the environment is on the PATH, too.',
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
    ...(input.agent === undefined
      ? []
      : ['', '%files', ...indented([`${input.agent} ${agentFolder}/${input.agent}`])]),
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
import { given } from '@updraft/base';
