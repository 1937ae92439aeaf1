/** Who asked for a cache to be tried first. */
export const describePreference = (by: string): string => `preferred by ${by}`;

export const describeLeftOut = ({ by, why }: { by: string; why: 'avoided' | 'no-token' }): string =>
  why === 'avoided'
    ? `avoided by ${by}`
    : `${describePreference(by)}, but the director does not list it, so it gets no token`;
