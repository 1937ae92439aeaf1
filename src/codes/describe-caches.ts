/** A server that was not asked for an object, and at whose request. */
interface NotAsked {
  by: string;
  why: 'avoided' | 'no-token';
}

/** Who asked for a cache to be tried first. */
export const describePreference = (by: string): string => `preferred by ${by}`;

export const describeLeftOut = ({ by, why }: NotAsked): string =>
  why === 'avoided'
    ? `avoided by ${by}`
    : `${describePreference(by)}, but the director does not list it, so it gets no token`;
