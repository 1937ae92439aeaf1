/** A URL as it may be shown and written down: without anything that gives access. */
export function safeUrl(text: string): string {
  const bare = text.replace(/^([a-z][a-z0-9+._-]*:\/\/)[^/?#]*@/i, '$1');
  return bare.replace(/([?&](?:authz|access_token|token|x-amz-signature|signature)=)[^&#]*/gi, '$1...');
}
