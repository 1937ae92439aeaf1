/** What to request for a measured use: a quarter more, since the next job may use a little more than the last. */
export const withHeadroom = (used: number): number => used * 1.25;

/**
 * What to request after a request was exceeded. Use up to the limit does not show how much would have been enough: then
 * it is twice the request.
 */
export const afterExceeding = (used: number, requested: number): number =>
  used > requested ? withHeadroom(used) : requested * 2;
