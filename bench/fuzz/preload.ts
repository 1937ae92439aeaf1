/** Loaded before a suite: `fast-check` is then `sliced.ts`, which itself gets the real one. */
const sliced = new URL('sliced.ts', import.meta.url).href;

if (process.versions['bun'] === undefined) {
  // Bun has no such function.
  const { registerHooks } = await import('node:module');
  registerHooks({
    resolve: (name, context, next) =>
      name === 'fast-check' && context.parentURL !== sliced
        ? { url: sliced, shortCircuit: true }
        : next(name, context),
  });
} else {
  const module: { default: unknown } = (await import(sliced)) as { default: unknown };
  const bunTest = 'bun:test';
  const { mock } = (await import(bunTest)) as {
    mock: { module: (name: string, make: () => unknown) => void };
  };
  mock.module('fast-check', () => ({ ...module }));
}
