import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { manifestOf } from '../manifest-of.ts';

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
  objects: string[];
  /** Shell commands, run in the project's folder. */
  make: (at: { published: string; unpacked: string }, isTiny: boolean) => string;
  /** Jobs verify it with their own manifest, as `updraft stage --manifests` makes it. */
  hasManifest?: true;
}

const python = 'python3';

/** Classes of 1300 images, in the size of ImageNet's images, or scaled to 256 as is common. */
function imageNet(name: string, classes: number, side: number): Recipe {
  const size = { full: `--classes ${classes} --side ${side}`, tiny: '--classes 6 --images 40 --side 64' };
  return {
    prefixes: [`/nrp/osdf/ILSVRC2012/${name}`],
    objects: ['ILSVRC2012_img_train.tar'],
    make: ({ published, unpacked }, isTiny) =>
      `${python} bench/gpu/make_images.py ${published}/ILSVRC2012_img_train.tar ${unpacked} ${isTiny ? size.tiny : size.full}`,
    hasManifest: true,
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
  'imagenet-small': imageNet('small', 14, 424),
  'imagenet-large': imageNet('large', 120, 256),
} satisfies Record<string, Recipe>;

export type DatasetName = keyof typeof recipes;

/** As a job file names it. */
export const manifestName = (object: string): string => `${object}.manifest.json`;

/** Makes a dataset in the folder; throws if that fails. */
export async function makeDataset(name: DatasetName, folder: string, isTiny: boolean): Promise<Dataset> {
  const { prefixes, objects, make, hasManifest }: Recipe = recipes[name];
  const [published, unpacked] = ['published', 'unpacked'].map((part) => path.join(folder, name, part)) as [
    string,
    string,
  ];
  for (const place of [published, unpacked]) await mkdir(place, { recursive: true });
  const maker = spawn('sh', ['-ec', make({ published, unpacked }, isTiny)], { stdio: 'inherit' });
  const [code] = (await once(maker, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${name} could not be made (${code})`);
  const sent = hasManifest ? objects.map((object) => path.join(folder, name, manifestName(object))) : [];
  for (const file of sent) {
    const object = path.join(published, path.basename(file, manifestName('')));
    await writeFile(file, JSON.stringify(manifestOf(object)));
  }
  return { prefixes, objects, published, unpacked, sent };
}
