import path from 'node:path';
import { Fault } from '../fault/fault.ts';
import { checkConsistency } from './check-consistency.ts';
import { toEnvironment } from './environment-schema.ts';
import { fileSchema, type FileContent } from './file-schema.ts';
import { plainPath } from './inside.ts';
import { layOver, type Layer } from './layers.ts';
import { readToml } from './read-toml.ts';
import { readYaml } from './read-yaml.ts';
import { schemaProblems } from './schema-problems.ts';
import { problemAt, type SourceFile, type SpecProblem } from './source-file.ts';
import type { GpuNeeds, Recovery, RunOptions, Spec } from './spec.ts';
import { SpecFault } from './spec-fault.ts';

/** The user's file as data, or every problem it has. `source` answers where each value was written. */
export type SpecReading =
  { spec: Spec; source: SourceFile } | { problems: [SpecProblem, ...SpecProblem[]]; source: SourceFile };

/** Reads TOML or YAML, by the file's ending; throws one `SpecFault` that lists every problem with its place. */
export function readSpec(text: string, file: string): Spec {
  const reading = checkSpec(text, file);
  if ('problems' in reading) throw new SpecFault(reading.problems);
  return reading.spec;
}

/** As `readSpec`, but answers the problems instead of throwing them; `layers` count instead of the file's own values. */
export function checkSpec(text: string, file: string, layers: Layer[] = []): SpecReading {
  const source = layers
    .map((layer) => readLayer(layer))
    .reduce(layOver, readSource(text.replace(/^\uFEFF/, ''), file));
  if (source.value === undefined) return failed(source, source.problems);
  const parsed = fileSchema.safeParse(source.value);
  const problems = [
    ...source.problems,
    ...(parsed.success ? [] : schemaProblems(parsed.error, source)),
    ...checkConsistency(source),
  ];
  if (problems.length > 0 || !parsed.success) return failed(source, problems);
  return { spec: toSpec(parsed.data), source };
}

const readLayer = ({ text, file }: Layer): SourceFile =>
  file.startsWith('--set ') ? readToml(text, file) : readSource(text, file);

function readSource(text: string, file: string): SourceFile {
  switch (path.extname(file).toLowerCase()) {
    case '.toml':
      return readToml(text, file);
    case '.yaml':
    case '.yml':
      return readYaml(text, file);
    default:
      throw new Fault(
        'file-invalid',
        `${file}: not a job file, its name ends neither in .toml nor in .yaml`,
        {
          about: file,
          fix: 'name it updraft.toml or updraft.yaml; updraft init writes one',
        },
      );
  }
}

function failed(source: SourceFile, problems: SpecProblem[]): SpecReading {
  const [first, ...rest] = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return { problems: [first ?? problemAt(source, [], 'cannot be read'), ...rest], source };
}

function toSpec(file: FileContent): Spec {
  const { train, environment, resources, run } = file;
  return {
    name: file.name,
    train: {
      command: train.command,
      files: train.files.map(plainPath),
      outputs: train.outputs.map(plainPath),
      ...(train.check !== undefined && { check: train.check }),
      ...(train.checkpoint !== undefined && { checkpoint: plainPath(train.checkpoint) }),
      ...(train.checkpoint_keep !== undefined && { checkpointKeep: train.checkpoint_keep }),
      ...(train.checkpoint_every !== undefined && { checkpointEverySeconds: train.checkpoint_every }),
      env: Object.fromEntries(Object.entries(train.env).map(([name, value]) => [name, String(value)])),
      ...(train.quiet_limit !== undefined && { quietLimitSeconds: train.quiet_limit }),
      ...(train.slow_limit !== undefined && { slowLimit: train.slow_limit }),
    },
    data: Object.entries(file.data).map(([name, data]) => toDataSource(name, data)),
    environment: toEnvironment(environment),
    resources: {
      cpus: resources.cpus,
      gpus: resources.gpus,
      ...(resources.gpu !== undefined && { gpu: toGpuNeeds(resources.gpu) }),
      memoryBytes: resources.memory,
      diskBytes: resources.disk,
      ...(resources.time !== undefined && { timeSeconds: resources.time }),
    },
    run: toRunOptions(run),
    recovery: toRecovery(file.recovery),
  };
}

function toGpuNeeds(gpu: NonNullable<FileContent['resources']['gpu']>): GpuNeeds {
  const { capability, memory, cuda } = gpu;
  return {
    ...(capability !== undefined && { capability }),
    ...(memory !== undefined && { memoryBytes: memory }),
    ...(cuda !== undefined && { cuda }),
  };
}

function toRunOptions(options: FileContent['run']): RunOptions {
  const { profile, project, requirements, partition, qos, ...run } = options;
  return {
    ...run,
    ...(profile !== undefined && { profile }),
    ...(project !== undefined && { project }),
    ...(requirements !== undefined && { requirements }),
    ...(partition !== undefined && { partition }),
    ...(qos !== undefined && { qos }),
  };
}

function toRecovery(recovery: FileContent['recovery']): Recovery {
  const { avoid, memory_max, disk_max, give_up_after, failed_jobs } = recovery;
  return {
    avoid,
    ...(memory_max !== undefined && { memoryMaxBytes: memory_max }),
    ...(disk_max !== undefined && { diskMaxBytes: disk_max }),
    ...(give_up_after !== undefined && { giveUpSeconds: give_up_after }),
    ...(failed_jobs !== undefined && { failedJobs: failed_jobs }),
  };
}

function toDataSource(name: string, data: FileContent['data'][string]): Spec['data'][number] {
  const { files, bytes } = data.expect;
  return {
    name,
    url: data.url,
    into: plainPath(data.into),
    ...(data.arriving && { arriving: true }),
    unpack: data.unpack,
    method: data.method,
    expect: { ...(files !== undefined && { files }), ...(bytes !== undefined && { bytes }) },
    ...(data.sha256 !== undefined && { sha256: data.sha256.toLowerCase() }),
    ...(data.manifest !== undefined && { manifest: data.manifest }),
    ...(data.token_file !== undefined && { tokenFile: data.token_file }),
  };
}
