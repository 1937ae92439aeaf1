/** Numbers from 0 up to, not including, 1: always the same ones for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of these, which are not none. */
export function oneOf<T>(all: readonly T[], random: () => number): T {
  const one = all[Math.floor(random() * all.length)];
  if (one === undefined) throw new RangeError('there is nothing to choose from');
  return one;
}
