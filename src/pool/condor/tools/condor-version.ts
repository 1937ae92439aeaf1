/** HTCondor's version, as in `25.14.1`. */
export type CondorVersion = `${number}.${number}.${number}`;

/** The version in what `condor_version` prints. */
export function parseCondorVersion(text: string): CondorVersion | undefined {
  return /\$CondorVersion:\s*(\d+\.\d+\.\d+)/.exec(text)?.[1] as CondorVersion | undefined;
}

export function isAtLeast(version: CondorVersion, wanted: CondorVersion): boolean {
  const [ours, theirs] = [version, wanted].map((one) => one.split('.').map(Number));
  for (const [index, part] of (ours ?? []).entries()) {
    const other = theirs?.[index] ?? 0;
    if (part !== other) return part > other;
  }
  return true;
}
