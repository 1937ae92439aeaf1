interface BunRuntime {
  gc(synchronously: boolean): void;
}

/**
 * Gives back what fetching and unpacking needed, before the training wants it. The agent's runtime would do so some
 * seconds later by itself; under Node there is no such call, and nothing happens.
 */
export function releaseMemory(): void {
  const { Bun } = globalThis as { Bun?: BunRuntime };
  Bun?.gc(true);
}
