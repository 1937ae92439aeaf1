interface BunRuntime {
  gc(synchronously: boolean): void;
}

/**
 * Gives back at once what is no longer in use. The agent's runtime would do so by itself, but some seconds later, and
 * meanwhile hold several times what it needs. Under Node there is no such call, and nothing happens.
 */
export function releaseMemory(): void {
  const { Bun } = globalThis as { Bun?: BunRuntime };
  Bun?.gc(true);
}
