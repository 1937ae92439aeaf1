interface Runtime {
  Bun?: { gc(synchronously: boolean): void };
  gc?: () => void;
}
const runtime = globalThis as Runtime;

/**
 * Returns unused memory to the system now. The runtime would do so by itself, but seconds later, and would
 * meanwhile hold several times what it needs. Under Node this needs `--expose-gc`.
 */
export function releaseMemory(): void {
  if (runtime.Bun === undefined) runtime.gc?.();
  else runtime.Bun.gc(true);
}

/** Lets Bun collect garbage meanwhile: on a busy machine, its heap grows faster than it does so by itself. */
export function collectGarbageSoon(): void {
  runtime.Bun?.gc(false);
}
