/** The words of a command that takes a run and jobs of it. A number alone is a job: runs are not called so. */
export function runAndJobs(words: readonly (string | undefined)[]): {
  run: string | undefined;
  jobs: string[];
} {
  const [first, ...more] = words.filter((word) => word !== undefined);
  if (first === undefined) return { run: undefined, jobs: [] };
  return /^\d+$/.test(first) ? { run: undefined, jobs: [first, ...more] } : { run: first, jobs: more };
}
