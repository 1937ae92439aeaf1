import type { DatasetName } from './datasets.ts';

/** One way to train, with the agent and without. */
export interface Workload {
  name: string;
  example: string;
  dataset?: DatasetName;
  /** `key=value` overrides, as for `updraft run --set`. */
  set: string[];
  /** The same for a trial of seconds, without a GPU. */
  tiny: string[];
  /** Cores for the agent and the training, in the syntax of `taskset`. */
  cores?: string;
  /** How often the same is trained without the agent: once before, and perhaps once after (default: 1). */
  inMemory?: 0 | 1 | 2;
}

const withoutGpu = 'resources.gpus=0';
const tinyImages =
  'train.command=python3 main.py --epochs 1 --batch-size 16 --lr 0.003 --image-size 32 --workers 1 --log-interval 1 --seed {index} --save-model';

function imageNet(name: string, size: 'small' | 'large', more: Partial<Workload> = {}): Workload {
  const urls = ['train', 'val'].map(
    (part) => `data.${part}.url=osdf:///imagenet/${size}/${part}/${part}.shards.json`,
  );
  return {
    name,
    example: 'imagenet-resnet50',
    dataset: `imagenet-${size}`,
    tiny: [withoutGpu, tinyImages, 'train.check=python3 check_model.py --epochs 1'],
    ...more,
    set: [...urls, ...(more.set ?? [])],
  };
}

/** The first epoch reads shards as they arrive, the second those on the disk. */
const twoEpochs = [
  'train.command=python3 main.py --epochs 2 --seed {index} --save-model',
  'train.check=python3 check_model.py --epochs 2',
];

export const workloads: Workload[] = [
  {
    name: 'hello',
    example: 'hello-pytorch-pixi-pack',
    set: [],
    tiny: [withoutGpu, 'train.command=python3 hello_pytorch.py'],
  },
  {
    name: 'mnist',
    example: 'mnist-pixi',
    dataset: 'mnist',
    set: [],
    inMemory: 2,
    tiny: [
      withoutGpu,
      'train.command=python3 torch_mnist.py --epochs 1 --device cpu --save-model',
      'train.check=python3 check_model.py --min-accuracy 0.3',
    ],
  },
  { name: 'cifar10', example: 'cifar10', dataset: 'cifar10', set: [], inMemory: 2, tiny: [withoutGpu] },
  {
    name: 'cifar10-resnet',
    example: 'cifar10-resnet',
    dataset: 'cifar10',
    set: [],
    inMemory: 2,
    tiny: [
      withoutGpu,
      'train.command=python3 cifar10_resnet.py --epochs 1 --device cpu --width 4 --batch-size 20 --log-interval 1 --save-model',
      'train.check=python3 check_model.py --min-accuracy 0',
    ],
  },
  imageNet('imagenet', 'small', { inMemory: 2 }),
  imageNet('imagenet-large', 'large', { inMemory: 2, set: twoEpochs }),
  imageNet('imagenet-6-cores', 'large', { cores: '0-5' }),
];
