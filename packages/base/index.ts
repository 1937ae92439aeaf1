export {
  type ArchiveKind,
  archiveKind,
  archiveKinds,
  isArchiveName,
  repacking,
  isShardList,
  shardListEnding,
  splitArchiveName,
} from './archive-kinds.ts';
export { anyOf } from './any-of.ts';
export { type CacheName, cacheNameForms, isAtCache, parseCacheName } from './cache-name.ts';
export { type Boot, type Clock, steadyClock, systemClock } from './clock.ts';
export { counted } from './counted.ts';
export { type Defined, defined, given } from './defined.ts';
export type { Env } from './env.ts';
export {
  errorReason,
  fileSize,
  isGone,
  isThere,
  readJsonFile,
  readPlainFile,
  succeeds,
  tried,
  unlessGone,
} from './error-reason.ts';
export { Fault, type FaultClass, type KindInfo, type RetryRule, asFault, baseFaults, kind } from './fault.ts';
export { findProgram, isProgram } from './find-program.ts';
export {
  type Finding,
  type Found,
  type Level,
  type Rule,
  type RuleResult,
  type SourceLine,
  applyRules,
  rule,
  levelIf,
  levels,
  sortFindings,
  asFound,
} from './finding.ts';
export { freeBytes } from './free-bytes.ts';
export { afterExceeding, withHeadroom } from './headroom.ts';
export { abortable, mapLimited } from './map-limited.ts';
export { alternatives, editDistance, nearest } from './nearest.ts';
export { fileUser, isPrivate } from './own-file.ts';
export { parseTime } from './parse-time.ts';
export {
  codeSpans,
  firstFew,
  informativeLine,
  printable,
  printableLines,
  safeOutput,
  withEscapes,
} from './printable.ts';
export {
  type Field,
  type Fields,
  Mismatch,
  bool,
  field,
  isTable,
  jsonTable,
  listOf,
  nullable,
  oneOf,
  optional,
  recordOf,
  shape,
  text,
} from './shape.ts';
export { firstShard, shardRange } from './shard-range.ts';
export { shellQuote } from './shell-quote.ts';
export { stableJson } from './stable-json.ts';
export { clip, compareValues, longestOf, numberOf, pad, widthOf, wrap, wrapLines } from './text-table.ts';
export {
  durationPattern,
  formatDuration,
  formatSize,
  memoryToRequest,
  parseDuration,
  parseSize,
  sizePattern,
  timeToRequest,
} from './units.ts';
