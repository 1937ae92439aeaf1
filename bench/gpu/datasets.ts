import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

/** A synthetic dataset of the true format: as it is published, and as a training finds it. */
export interface Dataset {
  /** Where the federation serves `published`. */
  prefixes: string[];
  published: string;
  /** What is in it. */
  objects: string[];
  unpacked: string;
}

interface Recipe {
  prefixes: string[];
  objects: string[];
  /** Shell commands, run in the project's folder. */
  make: (at: { published: string; unpacked: string }, isTiny: boolean) => string;
}

const python = 'python3';

function imageNet(classes: number, tinyClasses: number, object: string): Recipe {
  return {
    prefixes: [`/nrp/osdf/ILSVRC2012/${object}`],
    objects: ['ILSVRC2012_img_train.tar'],
    make: ({ published, unpacked }, isTiny) => {
      const size = isTiny
        ? `--classes ${tinyClasses} --images 40 --side 64`
        : `--classes ${classes} --images 1300`;
      return `${python} bench/gpu/make_images.py ${published}/ILSVRC2012_img_train.tar ${unpacked} ${size}`;
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
  'imagenet-small': imageNet(14, 4, 'small'),
  'imagenet-large': imageNet(92, 8, 'large'),
} satisfies Record<string, Recipe>;

export type DatasetName = keyof typeof recipes;

/** Makes a dataset under the folder; throws what its maker said when it fails. */
export async function makeDataset(name: DatasetName, folder: string, isTiny: boolean): Promise<Dataset> {
  const { prefixes, objects, make } = recipes[name];
  const [published, unpacked] = ['published', 'unpacked'].map((part) => path.join(folder, name, part)) as [
    string,
    string,
  ];
  for (const place of [published, unpacked]) await mkdir(place, { recursive: true });
  const maker = spawn('sh', ['-ec', make({ published, unpacked }, isTiny)], { stdio: 'inherit' });
  const [code] = (await once(maker, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${name} could not be made (${code})`);
  return { prefixes, objects, published, unpacked };
}
