/** The name under which HTCondor stores what it fetched: the last part of the path, without the query. */
export function deliveredName(url: string): string {
  const plain = url.replace(/[?#].*$/, '');
  return plain.slice(plain.lastIndexOf('/') + 1);
}
