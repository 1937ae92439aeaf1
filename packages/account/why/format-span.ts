/** The time between two moments; empty if one is unknown. */
export function formatSpan(from: number | undefined, to: number | undefined): string {
  if (from === undefined || to === undefined || to < from) return '';
  const seconds = Math.round((to - from) / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
