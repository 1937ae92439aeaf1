/** One statement's text, as HTCondor joins it from physical lines. */
export interface LogicalLine {
  text: string;
  /** Where it starts, counted from 1. */
  line: number;
  /** A comment between its continued lines: HTCondor keeps the comment's last character as text. */
  commentInside?: number;
}

/**
 * Joins continued lines the way `condor_submit` does: every physical line is trimmed, a trailing backslash joins
 * the next one, a comment line is never continued, and a comment within a continued line stands for its own last
 * character (so only one that ends in a backslash disappears).
 */
export function logicalLines(text: string): LogicalLine[] {
  const physical = text.split('\n');
  if (physical.at(-1) === '') physical.pop();
  const joined: LogicalLine[] = [];
  for (let at = 0; at < physical.length; at++) {
    const logical: LogicalLine = { text: '', line: at + 1 };
    for (let first = true; ; first = false) {
      const { piece, continues, comment } = readPiece(physical[at] ?? '', first);
      if (comment && !first && !continues) logical.commentInside = at + 1;
      logical.text += piece;
      if (!continues || at + 1 >= physical.length) break;
      at++;
    }
    joined.push(logical);
  }
  return joined;
}

function readPiece(raw: string, first: boolean): { piece: string; continues: boolean; comment: boolean } {
  const trimmed = raw.trim();
  const comment = trimmed.startsWith('#');
  if (comment && first) return { piece: trimmed, continues: false, comment };
  const kept = comment ? trimmed.slice(-1) : trimmed;
  const continues = kept.endsWith('\\');
  return { piece: continues ? kept.slice(0, -1) : kept, continues, comment };
}
