import path from 'node:path';

/** How the objects of a data set are called, and the data in the job file. */
export interface StageNames {
  /** The name of object `index`; caches treat names as immutable, so it holds a part of the content's hash. */
  object(index: number, sha8: string): string;
  /** The name of the table in the job file. */
  data(index: number): string;
}

export function stageNames(dataset: string, shape: 'file' | 'whole' | 'shards'): StageNames {
  const base = path.basename(dataset);
  const ending = shape === 'file' ? (/(?:\.tar)?\.[A-Za-z0-9]+$/.exec(base)?.[0] ?? '') : '.tar';
  const stem =
    (shape === 'file' && ending !== base ? base.slice(0, base.length - ending.length) : base) || 'data';
  const name = (text: string): string =>
    text
      .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 58) || 'data';
  const number = (index: number): string => (shape === 'shards' ? `-${String(index).padStart(4, '0')}` : '');
  return {
    object: (index, sha8) => `${stem}${number(index)}-${sha8}${ending}`,
    data: (index) => `${name(stem)}${number(index)}`,
  };
}
