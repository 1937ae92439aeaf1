/**
 * Returns unused memory to the system now. The runtime would do so by itself, but seconds later, and would meanwhile hold
 * several times what it needs. Under Node this needs `--expose-gc`.
 */
export function releaseMemory(): void {
  const { Bun, gc } = globalThis as { Bun?: { gc(synchronously: boolean): void }; gc?: () => void };
  if (Bun === undefined) gc?.();
  else Bun.gc(true);
}
