interface BunRuntime {
  gc(synchronously: boolean): void;
}

/**
 * Returns unused memory to the system now. The agent's runtime would do so by itself, but seconds later, and would
 * meanwhile hold several times what it needs. Does nothing under Node, which has no such call.
 */
export function releaseMemory(): void {
  const { Bun } = globalThis as { Bun?: BunRuntime };
  Bun?.gc(true);
}
