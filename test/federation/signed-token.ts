/** A JSON Web Token with these claims and no valid signature: clients read tokens, servers verify them. */
export function signedToken(claims: Record<string, unknown>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'ES256', typ: 'JWT' })}.${part({ 'wlcg.ver': '1.0', ...claims })}.c2lnbmF0dXJl`;
}
