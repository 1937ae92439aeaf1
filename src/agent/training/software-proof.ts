import { failingImport, type PythonTried } from '../../environment/find-python.ts';
import { asFault } from '../../fault/fault.ts';
import type { Attempt } from '../attempt.ts';
import { brokenPython, choosePython } from './choose-python.ts';
import { testEnvironment } from '../self-test/test-machine.ts';

/**
 * Proof that the software can do what the training will ask of it, got beside whatever else goes on: importing a library
 * like PyTorch takes seconds, for which neither the data nor the training waits.
 */
export class SoftwareProof {
  /** The attempt as it goes on: it is asked to end when the software turns out broken, with the fault that says how. */
  readonly attempt: Attempt;
  readonly #plain: Attempt;
  readonly #failed = new AbortController();
  readonly #enough = new AbortController();
  readonly #over = new AbortController();
  /** What the training's `python3` is; undefined where the job asks for no modules. */
  #python: string | undefined;
  #isProven = false;
  /** The GPUs have been tried, with whatever result. */
  #gpusTried: Promise<void> = Promise.resolve();

  private constructor(attempt: Attempt, python: string | undefined) {
    this.#plain = attempt;
    this.#python = python;
    this.attempt = until(attempt, this.#failed.signal);
  }

  /** Chooses the training's Python and begins; throws when no interpreter has the modules. */
  static async begin(attempt: Attempt): Promise<SoftwareProof> {
    const proof = new SoftwareProof(attempt, await choosePython(attempt));
    proof.#gpusTried = proof.#watch(testEnvironment, proof.#over.signal);
    void proof.#watch(
      (each) => proof.#import(each),
      AbortSignal.any([proof.#enough.signal, proof.#over.signal]),
    );
    return proof;
  }

  /**
   * The training is about to begin, and imports the same: that is proof enough, and the machine is the training's. Throws
   * when the GPUs cannot be used, for which it waits: many a training would go on without them, slowly.
   */
  async leaveToTraining(): Promise<void> {
    await this.#gpusTried;
    this.attempt.world.signal.throwIfAborted();
    this.#enough.abort();
  }

  /** The training has failed: throws when it is because of its software. */
  async explainFailure(): Promise<void> {
    const { order, world } = this.#plain;
    if (this.#isProven || this.#python === undefined || world.signal.aborted) return;
    const asked = failingImport(this.#python, order.environment.python, world.env, world.signal);
    const lacks = await asked.catch(() => undefined);
    if (lacks !== undefined) throw brokenPython({ path: this.#python, lacks }, order.environment);
  }

  /** Asks no more. */
  stop(): void {
    this.#over.abort();
  }

  async #watch(prove: (attempt: Attempt) => Promise<void>, enough: AbortSignal): Promise<void> {
    const asking = until(this.#plain, enough);
    await prove(asking).catch((error: unknown) => {
      if (!asking.world.signal.aborted) this.#failed.abort(asFault(error));
    });
  }

  /** Where the first choice cannot import them, the next interpreter that has the modules becomes the training's. */
  async #import(attempt: Attempt): Promise<void> {
    const { order, world, note } = attempt;
    const modules = order.environment.python;
    const failed: PythonTried[] = [];
    while (this.#python !== undefined) {
      const python = this.#python;
      const lacks = await failingImport(python, modules, world.env, world.signal);
      if (lacks === undefined) {
        this.#isProven = true;
        const said = `${python} imports ${modules.join(', ')}`;
        note({ kind: 'self-test', checks: [{ name: 'python', ok: true, said }] });
        return;
      }
      failed.push({ path: python, lacks });
      this.#python = await choosePython(attempt, failed);
    }
  }
}

/** The attempt, asked to end when the signal says so, too. */
function until(attempt: Attempt, signal: AbortSignal): Attempt {
  const { world } = attempt;
  return { ...attempt, world: { ...world, signal: AbortSignal.any([world.signal, signal]) } };
}
