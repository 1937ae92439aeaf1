/** A server that was not asked for an object, and who wanted it so. */
interface NotAsked {
  by: string;
  why: 'avoided' | 'no-token';
}

/** Who asked for a cache to be tried first. */
export const describePreference = (by: string): string => `preferred by ${by}`;

/** Why a server was not asked. */
export const describeLeftOut = ({ by, why }: NotAsked): string =>
  why === 'avoided'
    ? `avoided by ${by}`
    : `${describePreference(by)}, but the director does not list it, so it gets no token`;
