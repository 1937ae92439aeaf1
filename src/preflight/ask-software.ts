import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { counted, defined, findProgram, isThere } from '@updraft/base';
import { choosePython, probeScript, readProbe } from '../check/software-probe.ts';
import type { SoftwareFact, VersionFact } from '../check/facts.ts';
import type { Uses } from '../check/code/read-code.ts';
import type { Plan } from '../job/plan.ts';
import type { Asking } from './asking.ts';
import { isObject } from './ask-objects.ts';
import { nothingGathered, notChecked, reasonOf, type Gathered } from './gathered.ts';

/** The software a job runs in, and what it uses of it. */
export interface SoftwareQuestion {
  /** As the job file names it; undefined where the job uses the machine's software. */
  image: string | undefined;
  /** What a relative path of an image is relative to. */
  folder: string;
  /** The software comes in a packed environment. */
  isPacked: boolean;
  /** The job runs on this machine. */
  isHere: boolean;
  /** Modules that the job file declares. */
  declared: readonly string[];
  wantCuda: boolean;
  uses: Uses;
}

/** Finds what is installed, by running a small script inside the image or here. */
export async function askSoftware(
  asking: Asking,
  question: SoftwareQuestion,
  timeoutMs: number,
): Promise<Gathered<SoftwareFact | undefined>> {
  const { uses, image, isHere, isPacked } = question;
  if (uses.tools.length === 0 && uses.modules.length === 0) return nothingGathered;
  if (isPacked)
    return unknown('they come in a packed environment; `updraft env show` lists what its lock has');
  if (image === undefined && isHere)
    return await probe(asking, ['/bin/sh', '-s'], 'this machine', question, timeoutMs);
  if (image === undefined)
    return unknown(
      'the job uses whatever software the worker has; set `image` in [environment] to have the same everywhere',
    );
  if (isObject(image))
    return unknown(
      `the image is not on this machine; to check it, download it (updraft get ${image}) and add --image FILE`,
    );
  const runner = await findProgram(['apptainer', 'singularity'], asking.env);
  if (runner === undefined)
    return unknown('the image cannot be inspected: neither apptainer nor singularity is on the PATH');
  const place = image.includes('://') ? image : path.resolve(question.folder, image);
  if (place !== image && !(await isThere(place))) return unknown(`${place} is not on this machine`);
  const inside = [...[runner, '--silent', 'exec', '--cleanenv', '--no-home'], '--pwd', '/', place];
  const name = `the image ${path.basename(image)}`;
  return await probe(asking, [...inside, '/bin/sh', '-s'], name, question, timeoutMs);
}

const unknown = (why: string): Gathered<undefined> => notChecked(undefined, 'tools and Python modules', why);

async function probe(
  asking: Asking,
  command: readonly string[],
  where: string,
  { uses, declared, wantCuda, image }: SoftwareQuestion,
  timeoutMs: number,
): Promise<Gathered<SoftwareFact | undefined>> {
  const { output, trouble } = await runScript(asking, command, probeScript(uses, wantCuda), timeoutMs);
  const answer = readProbe(output);
  if (answer === undefined) return unknown(`inspecting ${where} failed: ${trouble}`);
  const python = choosePython(answer, declared);
  const facts: SoftwareFact = {
    where,
    isImage: image !== undefined,
    tools: answer.tools,
    ...defined({ python, cuda: python?.cuda }),
  };
  const parts = [
    [answer.tools.size, uses.tools.length, 'command'],
    [python?.has.size ?? 0, uses.modules.length, 'Python module'],
  ] as const;
  const used = parts
    .filter(([, asked]) => asked > 0)
    .map(([has, asked, word]) => (has === asked ? counted(has, word) : `${has} of ${counted(asked, word)}`));
  const said = `${used.join(' and ')} found`;
  return { facts, looked: [{ what: where, said }], unchecked: [] };
}

/** Compares what the folder says about its software with the lock, or with what was found here or in the image. */
export async function askVersions(
  { folder, spec, environment }: Plan,
  found: SoftwareFact | undefined,
): Promise<Gathered<VersionFact | undefined>> {
  const { compareSoftware, findSoftware, readSoftware } = await import('../environment/wanted-software.ts');
  const source = await findSoftware(folder, { withPixi: false });
  const file = path.basename(source?.place ?? '');
  const locked =
    environment?.facts !== undefined && environment.fallback === undefined && spec.environment.pixi;
  try {
    const has = locked ? await lockedVersions(folder, locked) : found?.python?.versions;
    if (source === undefined || has === undefined) return nothingGathered;
    const { unmet, unread } = compareSoftware(await readSoftware(source), has);
    const where = found && `${found.isImage ? 'in' : 'on'} ${found.where} (${found.python?.path ?? ''})`;
    const unchecked = unread.map((what) => ({
      what: `${file}: ${what}`,
      why: 'its version is not compared',
    }));
    return {
      facts: { file, where: (locked ? undefined : where) ?? 'in pixi.lock', unmet },
      looked: [],
      unchecked,
    };
  } catch (error) {
    return notChecked(undefined, file, reasonOf(error));
  }
}

async function lockedVersions(
  folder: string,
  { manifest, environment, platform }: NonNullable<Plan['spec']['environment']['pixi']>,
): Promise<Map<string, string>> {
  const { loadWorkspace } = await import('../environment/load-workspace.ts');
  const { selectLocked } = await import('../environment/pixi-lock.ts');
  const { lock } = await loadWorkspace(path.join(folder, manifest));
  const { packages } = selectLocked(lock, environment, platform);
  const named = packages.flatMap((one) =>
    [one.name, ...one.onPypi].map((name) => [name, one.version] as const),
  );
  return new Map(named.map(([name, version]) => [name === 'pytorch' ? 'torch' : name, version]));
}

/** Runs a program with a script on its standard input, within the timeout. */
async function runScript(
  asking: Asking,
  [program = '', ...args]: readonly string[],
  script: string,
  timeoutMs: number,
): Promise<{ output: string; trouble: string }> {
  const signal = AbortSignal.any([asking.signal, AbortSignal.timeout(timeoutMs)]);
  // In its own process group: a runtime that pulls an image has children, which must end with it.
  const child = spawn(program, args, { env: { ...asking.env }, cwd: '/', stdio: 'pipe', detached: true });
  const end = (): void => {
    if (child.pid !== undefined) asking.kill(-child.pid, 'SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
  };
  signal.addEventListener('abort', end, { once: true });
  let [output, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)));
  child.stdin.on('error', () => undefined).end(script);
  try {
    const [code] = (await once(child, 'close', { signal })) as [number | null];
    const last = said.trim().split('\n').at(-1) ?? '';
    return { output, trouble: last === '' ? `exit code ${code ?? 'none'}` : last };
  } catch (error) {
    asking.signal.throwIfAborted();
    const trouble = signal.aborted ? `no answer within ${timeoutMs / 1000} s` : (error as Error).message;
    return { output, trouble };
  } finally {
    signal.removeEventListener('abort', end);
  }
}
