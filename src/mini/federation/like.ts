/** Whose servers the federation behaves like; none of them: Pelican's protocol, told as cleanly as it can be. */
export const likes = ['pelican-go', 'xrootd'] as const;

export type Like = (typeof likes)[number];
