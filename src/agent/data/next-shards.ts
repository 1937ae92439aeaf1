/** What is known about the shards of a data set, and about the readers that use them. */
export interface ShardsNow {
  /** The size of each shard. */
  bytes: readonly number[];
  /** The disk that shards may take. */
  keep: number;
  /** Numbers of shards, in the order in which they are used from now on; a shard of the next epoch comes again. */
  order: readonly number[];
  /** How many shards readers use together. */
  block: number;
  present: ReadonlySet<number>;
  /** Shards that are being fetched. */
  arriving: ReadonlySet<number>;
  /** How many are fetched at a time. */
  lanes: number;
  /** The training was asked to end: what it does not use soon only has to be removed. */
  isEnding?: boolean;
}

export interface NextShards {
  bring: number[];
  /** Shards on disk to remove, and transfers to end, to make room for them. */
  remove: number[];
  /** What readers use next is not here yet. */
  isAwaited: boolean;
}

/**
 * Which shards to fetch next, and which to give up for them. The next two blocks come first: for them goes what is used
 * furthest in the future, so that much of it is still there in the next epoch. What is used later only fills free space.
 */
export function nextShards(now: ShardsNow): NextShards {
  const { order, block, present, arriving, keep, lanes, isEnding = false } = now;
  const nextUse = new Map<number, number>();
  for (const [place, shard] of order.entries()) if (!nextUse.has(shard)) nextUse.set(shard, place);
  const isSoon = (shard: number): boolean => (nextUse.get(shard) ?? Infinity) < 2 * block;
  const sizeOf = (shard: number): number => now.bytes[shard] ?? 0;
  const held = new Set([...present, ...arriving]);
  // Last used, first removed.
  const removable = [...held]
    .filter((shard) => !isSoon(shard))
    .sort((a, b) => (nextUse.get(a) ?? Infinity) - (nextUse.get(b) ?? Infinity));
  let used = [...held].reduce((sum, shard) => sum + sizeOf(shard), 0);
  let free = lanes - arriving.size;
  const bring: number[] = [];
  const remove: number[] = [];
  for (const shard of nextUse.keys()) {
    if (held.has(shard)) continue;
    if (isEnding && !isSoon(shard)) break;
    const size = sizeOf(shard);
    while (isSoon(shard) && (free === 0 || used + size > keep)) {
      const index = removable.findLastIndex((each) => free > 0 || arriving.has(each));
      const [victim] = index < 0 ? [] : removable.splice(index, 1);
      if (victim === undefined) break;
      remove.push(victim);
      used -= sizeOf(victim);
      if (arriving.has(victim)) free += 1;
    }
    if (free === 0 || used + size > keep) break;
    bring.push(shard);
    used += size;
    free -= 1;
  }
  if (isEnding) remove.push(...removable);
  const isAwaited = order.slice(0, block).some((shard) => !present.has(shard));
  return { bring, remove, isAwaited };
}

/** What the shards of the current block take together: the budget must hold them. */
export function blockBytes({ bytes, order, block }: Pick<ShardsNow, 'bytes' | 'order' | 'block'>): number {
  return [...new Set(order.slice(0, block))].reduce((sum, shard) => sum + (bytes[shard] ?? 0), 0);
}
