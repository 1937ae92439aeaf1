import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { listShards } from './list-shards.ts';

/** A synthetic dataset in the real format: as published, and as a training finds it. */
export interface Dataset {
  /** Where the federation serves `published`. */
  prefixes: string[];
  published: string;
  /** Its contents. */
  objects: string[];
  unpacked: string;
  /** Files that are sent with a job that fetches it. */
  sent: string[];
}

interface Recipe {
  prefixes: string[];
  objects?: string[];
  /** Shell commands, run in the project's folder. */
  make: (at: { published: string; unpacked: string }, isTiny: boolean) => string;
  /** Folders of shards, which a training without Updraft reads as they are. */
  shards?: string[];
}

const python = 'python3';

/** Shards of mixed images, in the size of ImageNet's images, or scaled to 256 as is common. */
function imageNet(name: string, classes: number, side: number, count: number, perShard: number): Recipe {
  const full = `--classes ${classes} --side ${side} --count ${count} --per-shard ${perShard}`;
  const size = { full, tiny: '--classes 6 --side 64 --count 6 --per-shard 40' };
  return {
    prefixes: [`/imagenet/${name}`],
    shards: ['train', 'val'],
    make: ({ published }, isTiny) => {
      const maker = `${python} bench/gpu/stream/make_shards.py ${published}`;
      const words = isTiny ? size.tiny : size.full;
      return `${maker}/train ${words} && ${maker}/val ${words} --count 1`;
    },
  };
}

const recipes = {
  cifar10: {
    prefixes: ['/updraft/demo', '/nrp/osdf/cifar-10'],
    objects: ['cifar-10-python.tar.gz'],
    make: ({ published, unpacked }, isTiny) =>
      `${python} examples/cifar10/make_data.py ${published}/cifar-10-python.tar.gz --images-per-batch ${isTiny ? 200 : 10000} &&` +
      ` tar -xzf ${published}/cifar-10-python.tar.gz -C ${unpacked}`,
  },
  mnist: {
    prefixes: ['/updraft/mnist'],
    objects: ['train', 't10k'].flatMap((part) => [
      `${part}-images-idx3-ubyte.gz`,
      `${part}-labels-idx1-ubyte.gz`,
    ]),
    make: ({ published, unpacked }, isTiny) =>
      `${python} examples/mnist-pixi/make_data.py ${published} --images ${isTiny ? 600 : 60000} && cp ${published}/* ${unpacked}`,
  },
  'imagenet-small': imageNet('small', 14, 424, 28, 650),
  'imagenet-large': imageNet('large', 120, 256, 100, 1560),
} satisfies Record<string, Recipe>;

export type DatasetName = keyof typeof recipes;

/** Makes a dataset in the folder; throws if that fails. */
export async function makeDataset(name: DatasetName, folder: string, isTiny: boolean): Promise<Dataset> {
  const { prefixes, objects, make, shards = [] }: Recipe = recipes[name];
  const published = path.join(folder, name, 'published');
  const unpacked = shards.length > 0 ? published : path.join(folder, name, 'unpacked');
  for (const place of [published, unpacked]) await mkdir(place, { recursive: true });
  const maker = spawn('sh', ['-ec', make({ published, unpacked }, isTiny)], { stdio: 'inherit' });
  const [code] = (await once(maker, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${name} could not be made (${code})`);
  for (const part of shards) await listShards(path.join(published, part), `${part}.shards.json`);
  const listed = shards.map(async (part) =>
    (await readdir(path.join(published, part))).map((file) => `${part}/${file}`),
  );
  const sent = shards.slice(0, 1).map((part) => path.join(published, part, 'classes.txt'));
  return { prefixes, objects: objects ?? (await Promise.all(listed)).flat(), published, unpacked, sent };
}
