import { manifestName, type DatasetName } from './datasets.ts';

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
  'train.command=python3 main.py --epochs 1 --batch-size 16 --lr 0.003 --image-size 32 --held-out 0.2 --mix 32 --workers 1 --log-interval 1 --seed {index} --save-model';

function imageNet(name: string, size: 'small' | 'large', more: Partial<Workload> = {}): Workload {
  const object = 'ILSVRC2012_img_train.tar';
  const url = `osdf:///nrp/osdf/ILSVRC2012/${size}/${object}`;
  return {
    name,
    example: 'imagenet-resnet50',
    dataset: `imagenet-${size}`,
    tiny: [withoutGpu, tinyImages, 'train.check=python3 check_model.py --epochs 1'],
    ...more,
    set: [`data.train.url=${url}`, `data.train.manifest=${manifestName(object)}`, ...(more.set ?? [])],
  };
}

/** The first epoch reads the stream, the second what was unpacked meanwhile. */
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
  imageNet('imagenet', 'small', { inMemory: 2, set: ['data.train.arriving=false'] }),
  imageNet('imagenet-streaming-small', 'small', { inMemory: 0 }),
  imageNet('imagenet-streaming', 'large', { inMemory: 2, set: twoEpochs }),
  imageNet('imagenet-streaming-6-cores', 'large', { cores: '0-5' }),
];
