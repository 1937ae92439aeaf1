/** A public training, shortened by its own arguments. */
export interface Training {
  /** On GitHub. */
  repository: string;
  script: string;
  /** Its arguments. */
  shorter?: string;
  /** Where it is started, as its README says; the repository if it says nothing. */
  folder?: string;
  /** Data of `synthetic/make_data.py`, with its place in the folder. */
  data?: readonly [kind: string, place: string];
  /** What a user names for `init`, besides the script. */
  more?: readonly string[];
}

const training = (
  repository: string,
  script: string,
  shorter = '',
  more: Omit<Training, 'repository' | 'script' | 'shorter'> = {},
): Training => ({ repository, script, shorter, ...more });

/** One training of each repository; none was chosen because it fits. */
export const trainings: readonly Training[] = [
  training('CHTC/templates-GPUs', 'main.py', '--epochs 1', { folder: 'shared/pytorch' }),
  training('Diego999/pyGAT', 'train.py', '--epochs 2', { data: ['graph', 'data/cora'] }),
  training(
    'HobbitLong/SupContrast',
    'main_ce.py',
    '--epochs 1 --batch_size 32 --model resnet18 --num_workers 0',
  ),
  training('L1aoXingyu/pytorch-beginner', 'convolution_network.py', '', {
    folder: '04-Convolutional Neural Network',
  }),
  training('MorvanZhou/PyTorch-Tutorial', '401_CNN.py', '', { folder: 'tutorial-contents' }),
  training('aaron-xichen/pytorch-playground', 'mnist/train.py', '--epochs 1'),
  training('akamaster/pytorch_resnet_cifar10', 'trainer.py', '--epochs 1 --arch resnet20 --workers 0'),
  training('bamos/densenet.pytorch', 'train.py', '--nEpochs 1'),
  training('bearpaw/pytorch-classification', 'cifar.py', '--epochs 1 --workers 0'),
  training('chengyangfu/pytorch-vgg-cifar10', 'main.py', '--epochs 1 --cpu --arch vgg11 --workers 0'),
  training(
    'clovaai/CutMix-PyTorch',
    'train.py',
    '--dataset cifar10 --net_type resnet --depth 20 --epochs 1 --batch_size 16 --workers 0',
  ),
  training('davda54/sam', 'example/train.py', '--epochs 1 --depth 10 --width_factor 1 --threads 0'),
  training(
    'eladhoffer/convNet.pytorch',
    'main.py',
    '--dataset cifar10 --model resnet --device cpu --epochs 1 --workers 0 -b 32',
  ),
  training('eriklindernoren/PyTorch-GAN', 'gan.py', '--n_epochs 1 --sample_interval 1', {
    folder: 'implementations/gan',
  }),
  training('facebookresearch/simsiam', 'main_simsiam.py', '--epochs 1', { data: ['classes', 'data'] }),
  training('facebookresearch/barlowtwins', 'main.py', '--epochs 1 --batch-size 4', {
    data: ['classes', 'data'],
  }),
  training('facebookresearch/mixup-cifar10', 'train.py', '--epoch 1 --batch-size 32 --alpha 1.'),
  training('foolwood/pytorch-slimming', 'main.py', '--epochs 1 --batch-size 32'),
  training('fxia22/pointnet.pytorch', 'utils/train_classification.py', '--nepoch 1'),
  training('gpleiss/efficient_densenet_pytorch', 'demo.py', '--n_epochs 1 --batch_size 16 --depth 10'),
  training(
    'gpleiss/temperature_scaling',
    'train.py',
    '--n_epochs 1 --batch_size 16 --depth 10 --valid_size 16',
  ),
  training('haitongli/knowledge-distillation-pytorch', 'train.py'),
  training('hunkim/PyTorchZeroToAll', '09_2_softmax_mnist.py'),
  training('ikostrikov/pytorch-a2c-ppo-acktr-gail', 'main.py', '--num-env-steps 100'),
  training('itayhubara/BinaryNet.pytorch', 'main_mnist.py', '--epochs 1 --no-cuda'),
  training('jadore801120/attention-is-all-you-need-pytorch', 'train.py', '-epoch 1'),
  training('jcjohnson/pytorch-examples', 'two_layer_net_optim.py', '', { folder: 'nn' }),
  training('jeonsworld/ViT-pytorch', 'train.py', '--num_steps 1 --train_batch_size 4'),
  training('jiecaoyu/XNOR-Net-PyTorch', 'main.py', '--epochs 1 --no-cuda', { folder: 'MNIST' }),
  training('jik876/hifi-gan', 'train.py', '--training_epochs 1'),
  training('karpathy/makemore', 'makemore.py', '--max-steps 600 --n-layer 1 --n-embd 16 --num-workers 0', {
    data: ['text', 'names.txt'],
  }),
  training('karpathy/minGPT', 'projects/chargpt/chargpt.py', '--trainer.max_iters=10', {
    data: ['text', 'input.txt'],
  }),
  training(
    'karpathy/nanoGPT',
    'train.py',
    '--dataset=shakespeare_char --device=cpu --compile=False --max_iters=4 --eval_iters=1 --eval_interval=2 ' +
      '--n_layer=1 --n_head=1 --n_embd=16 --block_size=16 --batch_size=2 --gradient_accumulation_steps=1',
    { data: ['tokens', 'data/shakespeare_char'] },
  ),
  training(
    'kentaroy47/vision-transformers-cifar10',
    'train_cifar10.py',
    '--n_epochs 1 --nowandb --noamp --bs 16',
  ),
  training('kuangliu/pytorch-cifar', 'main.py'),
  training('leftthomas/SRGAN', 'train.py', '--num_epochs 1', { data: ['images', 'data/DIV2K_train_HR'] }),
  training('leftthomas/SimCLR', 'main.py', '--epochs 1 --batch_size 16'),
  training('locuslab/TCN', 'TCN/adding_problem/add_test.py', '--epochs 1 --levels 2 --seq_len 20'),
  training('lukemelas/EfficientNet-PyTorch', 'examples/imagenet/main.py', '--epochs 1 -b 4', {
    data: ['classes', 'data'],
  }),
  training('matthewfeickert/nvidia-gpu-ml-library-test', 'torch_MNIST.py', '--epochs 1'),
  training('meliketoy/wide-resnet.pytorch', 'main.py', '--depth 10 --widen_factor 1'),
  training('milesial/Pytorch-UNet', 'train.py', '--epochs 1 --scale 0.25', { data: ['masks', 'data'] }),
  training('moskomule/senet.pytorch', 'cifar.py', '--epochs 1 --num_workers 0'),
  training('omihub777/ViT-CIFAR', 'main.py', '--max-epochs 1 --batch-size 16 --precision 32'),
  training('peterliht/knowledge-distillation-pytorch', 'teacher_mnist.py', '--epochs 1', { folder: 'mnist' }),
  training('pytorch/examples', 'main.py', '--epochs 1', { folder: 'mnist' }),
  training('pytorch/vision', 'train.py', '--epochs 1 --device cpu --workers 0 -b 4', {
    folder: 'references/classification',
    data: ['classes', 'references/classification/data'],
  }),
  training('salesforce/awd-lstm-lm', 'main.py', '--epochs 1 --nhid 16 --emsize 16 --batch_size 4', {
    data: ['corpus', 'data/penn'],
  }),
  training('spro/char-rnn.pytorch', 'train.py', '--n_epochs 2 --batch_size 4 --hidden_size 8', {
    data: ['text', 'shakespeare.txt'],
  }),
  training('sthalles/SimCLR', 'run.py', '--epochs 1 --batch-size 8 --workers 0 --disable-cuda'),
  training('szagoruyko/attention-transfer', 'cifar.py', '--epochs 1 --batch_size 16 --nthread 0'),
  training(
    'timgaripov/swa',
    'train.py',
    '--epochs 1 --model VGG16 --save_freq 1 --eval_freq 1 --batch_size 16 --num_workers 0',
  ),
  training('tkipf/pygcn', 'train.py', '--epochs 2', { folder: 'pygcn', data: ['graph', 'data/cora'] }),
  training('uoguelph-mlrg/Cutout', 'train.py', '--epochs 1 --batch_size 16'),
  training('victoresque/pytorch-template', 'train.py'),
  training('vikasverma1077/manifold_mixup', 'main.py', '--epochs 1 --arch preactresnet18 --batch_size 16', {
    folder: 'supervised',
  }),
  training('weiaicunzai/pytorch-cifar100', 'train.py', '-net squeezenet -b 16'),
  training('xternalz/WideResNet-pytorch', 'train.py', '--epochs 1 --layers 10 --widen-factor 1 -b 16'),
  training('yunjey/pytorch-tutorial', 'main.py', '', {
    folder: 'tutorials/01-basics/feedforward_neural_network',
  }),
  training(
    'yunjey/stargan',
    'main.py',
    '--num_iters 2 --num_iters_decay 1 --model_save_step 2 --sample_step 2 --log_step 1 --batch_size 2 ' +
      '--image_size 64 --g_conv_dim 4 --d_conv_dim 4 --use_tensorboard False',
    { data: ['attributes', 'data/celeba'] },
  ),
  training('znxlwm/pytorch-MNIST-CelebA-GAN-DCGAN', 'pytorch_MNIST_GAN.py'),
  training('2986002971/deep_learning_course', '3_1_mnist.py'),
  training('AntixK/PyTorch-VAE', 'run.py'),
  training(
    'wjmaddox/swa_gaussian',
    'run_swag.py',
    '--epochs 1 --model VGG16 --batch_size 16 --num_workers 0',
    {
      folder: 'experiments/train',
    },
  ),
  training('xinntao/BasicSR', 'basicsr/train.py'),
  // Chosen later, to be tried for the first time.
  training('soapisnotfat/pytorch-cifar10', 'main.py', '--epoch 1 --trainBatchSize 32 --testBatchSize 32'),
  training('y0ast/pytorch-snippets', 'train_cifar.py', '--epochs 1', { folder: 'minimal_cifar' }),
  training('timbmg/VAE-CVAE-MNIST', 'train.py', '--epochs 1'),
  training('caogang/wgan-gp', 'gan_toy.py'),
  training(
    'martinarjovsky/WassersteinGAN',
    'main.py',
    '--dataset cifar10 --niter 1 --imageSize 32 --workers 0',
  ),
  training('fungtion/DANN', 'train/main.py'),
  training('kevinzakka/recurrent-visual-attention', 'main.py', '--epochs 1 --use_gpu False'),
  training('dougbrion/pytorch-classification-uncertainty', 'main.py', '--train --epochs 1'),
  training('graykode/nlp-tutorial', 'NNLM.py', '', { folder: '1-1.NNLM' }),
  training('prlz77/ResNeXt.pytorch', 'train.py', '--epochs 1 --ngpu 0 --depth 11 --cardinality 1 -b 16'),
  training('devnag/pytorch-generative-adversarial-networks', 'gan_pytorch.py'),
  training('laiguokun/LSTNet', 'main.py', '--epochs 1 --data data/exchange.txt --cuda False', {
    data: ['table', 'data/exchange.txt'],
    more: ['data'],
  }),
  training('lukasruff/Deep-SVDD-PyTorch', 'src/main.py', '--n_epochs 1 --ae_n_epochs 1 --device cpu'),
  training('nadavbh12/VQ-VAE', 'main.py', '--dataset mnist --model vae --epochs 1 --no-cuda'),
  training('kumar-shridhar/PyTorch-BayesianCNN', 'main_bayesian.py'),
  training('quark0/darts', 'train.py', '--epochs 1 --batch_size 8', { folder: 'cnn' }),
  training('naoto0804/pytorch-AdaIN', 'train.py', '--max_iter 1 --batch_size 1', {
    data: ['images', 'input/content'],
  }),
  training(
    'yunjey/mnist-svhn-transfer',
    'main.py',
    '--use_reconst_loss True --use_labels False --train_iters 2',
  ),
  training('Randl/MobileNetV2-pytorch', 'imagenet.py', '--epochs 1 -b 4 -j 0', { data: ['classes', 'data'] }),
  training('ShichenLiu/CondenseNet', 'main.py', '--epochs 1 -b 4 -j 0 --stages 2-2 --growth 4-4', {
    data: ['classes', 'data'],
  }),
  training('jakesnell/prototypical-networks', 'scripts/train/few_shot/run_train.py'),
  training('gordicaleksa/pytorch-GAT', 'training_script_cora.py', '--num_of_epochs 2'),
  training('hysts/pytorch_image_classification', 'train.py'),
  training('yjn870/SRCNN-pytorch', 'train.py', '--num-epochs 1 --num-workers 0'),
  training('rosinality/vq-vae-2-pytorch', 'train_vqvae.py', '--epoch 1 --size 32 --n_gpu 1', {
    data: ['classes', 'data'],
  }),
  training('1Konny/Beta-VAE', 'main.py', '--max_iter 2 --viz_on False --num_workers 0'),
  training('kuc2477/pytorch-wgan-gp', 'main.py', '--epochs 1 --no-gpus'),
  training('bearpaw/pytorch-pose', 'example/main.py', '--epochs 1'),
  // Chosen last: nobody had used them, and each is first started by hand.
  training(
    '4uiiurz1/pytorch-nested-unet',
    'train.py',
    '--epochs 1 -b 2 --arch UNet --dataset dsb2018_96 --input_w 32 --input_h 32 --num_workers 0',
    { data: ['segments', 'inputs/dsb2018_96'] },
  ),
  training('649453932/Chinese-Text-Classification-Pytorch', 'run.py', '--model TextCNN --embedding random', {
    data: ['headlines', 'THUCNews/data/train.txt'],
  }),
  training('AlanChou/Truncated-Loss', 'main.py', '--epochs 1 --batch-size 16'),
  training('BIGBALLON/CIFAR-ZOO', 'train.py', '--work-path ./experiments/cifar10/lenet'),
  training(
    'Eric-mingjie/network-slimming',
    'main.py',
    '-sr --s 0.0001 --dataset cifar10 --arch vgg --depth 19 --epochs 1 --batch-size 16',
  ),
  training('Natsu6767/DCGAN-PyTorch', 'train.py', '', { data: ['classes', 'data/celeba'] }),
  training('Natsu6767/InfoGAN-PyTorch', 'train.py'),
  training(
    'SaoYan/DnCNN-PyTorch',
    'train.py',
    '--preprocess True --num_of_layers 3 --mode S --epochs 1 --batchSize 16',
    { data: ['images', 'data/train'] },
  ),
  training('TeaPearce/Conditional_Diffusion_MNIST', 'script.py'),
  training(
    'WangYueFt/dgcnn',
    'main.py',
    '--epochs 1 --no_cuda True --batch_size 4 --test_batch_size 4 --num_points 64 --k 5',
    { folder: 'pytorch', data: ['points', 'pytorch/data/modelnet40_ply_hdf5_2048'] },
  ),
  training(
    'YU1ut/MixMatch-pytorch',
    'train.py',
    '--gpu 0 --n-labeled 20 --epochs 1 --train-iteration 2 --batch-size 4',
  ),
  training('aitorzip/PyTorch-CycleGAN', 'train', '--n_epochs 1 --decay_epoch 0 --size 32 --n_cpu 0', {
    data: ['pairs', 'datasets/horse2zebra'],
  }),
  training('aladdinpersson/Machine-Learning-Collection', 'pytorch_simple_CNN.py', '', {
    folder: 'ML/Pytorch/Basics',
  }),
  training('bhanML/Co-teaching', 'main.py', '--n_epoch 2 --num_iter_per_epoch 2 --num_workers 0', {
    data: ['digits', 'data/processed'],
  }),
  training(
    'bot66/MNISTDiffusion',
    'train_mnist.py',
    '--epochs 1 --cpu --timesteps 10 --batch_size 8 --n_samples 4 --model_base_dim 8',
  ),
  training('chenyuntc/pytorch-best-practice', 'main.py', 'train --use-gpu=False --max-epoch=1', {
    data: ['catsDogs', 'data'],
  }),
  training('christiancosgrove/pytorch-spectral-normalization-gan', 'main.py', '--model dcgan'),
  training('cloneofsimo/minDiffusion', 'superminddpm.py'),
  training(
    'cure-lab/LTSF-Linear',
    'run_longExp.py',
    '--is_training 1 --root_path ./dataset/ --data_path ETTh1.csv --model_id first --model DLinear ' +
      '--data ETTh1 --seq_len 96 --pred_len 24 --train_epochs 1 --itr 1 --num_workers 0 --batch_size 512',
    { data: ['hours', 'dataset/ETTh1.csv'] },
  ),
  training('dnddnjs/pytorch-cifar10', 'train.py', '', { folder: 'resnet' }),
  training('dragen1860/MAML-Pytorch', 'omniglot_train.py', '--epoch 2 --task_num 2 --k_qry 2', {
    data: ['letters', 'omniglot'],
  }),
  training('ethanfetaya/NRI', 'train.py', '--epochs 1 --no-cuda --batch-size 8', {
    data: ['springs', 'data'],
  }),
  training('google-research/augmix', 'cifar.py', '--epochs 1 --batch-size 16 --num-workers 0', {
    data: ['corrupted', 'data/cifar/CIFAR-10-C'],
  }),
  training(
    'hendrycks/outlier-exposure',
    'baseline.py',
    'cifar10 --model wrn --layers 10 --epochs 1 --ngpu 0 --prefetch 0 --batch_size 16',
    { folder: 'CIFAR' },
  ),
  training('icpm/super-resolution', 'main.py', '-m sub -uf 2 --nEpochs 1', {
    data: ['splitImages', 'dataset/BSDS300/images'],
  }),
  training('ikostrikov/pytorch-flows', 'main.py', '--dataset MOONS --epochs 1 --no-cuda --num-blocks 2'),
  training('jzbontar/pixelcnn-pytorch', 'main.py'),
  training('kaidic/LDAM-DRW', 'cifar_train.py', '--epochs 1 --workers 0 --batch-size 16 --loss_type LDAM'),
  training('kamenbliznashki/normalizing_flows', 'maf.py', '--train --dataset=toy --n_epochs=1 --no_cuda'),
  training('karpathy/ng-video-lecture', 'bigram.py'),
  training('karpathy/pytorch-made', 'run.py', '--data-path binarized_mnist.npz -q 50', {
    data: ['binarized', 'binarized_mnist.npz'],
  }),
  training(
    'kekmodel/FixMatch-pytorch',
    'train.py',
    '--dataset cifar10 --num-labeled 40 --batch-size 2 --mu 1 --total-steps 2 --eval-step 1 --expand-labels ' +
      '--seed 5 --num-workers 0',
  ),
  training('kuc2477/pytorch-deep-generative-replay', 'main.py', '--train --experiment=permutated-mnist'),
  training('locuslab/fast_adversarial', 'train_mnist.py', '--epochs 1 --batch-size 16', { folder: 'MNIST' }),
  training('lucidrains/x-transformers', 'train_copy.py'),
  training(
    'pranz24/pytorch-soft-actor-critic',
    'main.py',
    '--env-name Pendulum-v1 --num_steps 250 --start_steps 50 --batch_size 16',
  ),
  training(
    'rosinality/glow-pytorch',
    'train.py',
    '--iter 2 --n_block 1 --n_flow 1 --img_size 16 --batch 2 --n_sample 2 pictures',
    { data: ['classes', 'pictures'] },
  ),
  training('seungeunrho/minimalRL', 'ppo.py'),
  training(
    'sfujim/TD3',
    'main.py',
    '--env Pendulum-v1 --max_timesteps 300 --start_timesteps 100 --eval_freq 200',
  ),
  training(
    'w86763777/pytorch-ddpm',
    'main.py',
    '--train --flagfile ./config/CIFAR10.txt --total_steps 2 --ch 32 --num_workers 0 --batch_size 4 ' +
      '--sample_size 2 --save_step 1 --T 2 --eval_step 0',
  ),
  training('yaodongyu/TRADES', 'train_trades_mnist.py', '--epochs 1 --save-freq 1 --batch-size 32 --no-cuda'),
  training('yinboc/prototypical-network-pytorch', 'train.py', '--max-epoch 1 --train-way 5 --query 2', {
    data: ['mini', 'materials'],
  }),
  training(
    'yjn870/FSRCNN-pytorch',
    'train.py',
    '--train-file data/train.h5 --eval-file data/eval.h5 --outputs-dir out --scale 3 --num-epochs 1 ' +
      '--num-workers 0',
    { data: ['patches', 'data'] },
  ),
  training(
    'zhouhaoyi/Informer2020',
    'main_informer.py',
    '--model informer --data ETTh1 --train_epochs 1 --itr 1 --d_model 16 --d_ff 16 --seq_len 24 --label_len 12 ' +
      '--pred_len 6 --num_workers 0 --batch_size 512',
    { data: ['hours', 'data/ETT/ETTh1.csv'] },
  ),
  training(
    'zhunzhong07/Random-Erasing',
    'fashionmnist.py',
    '--epochs 1 --depth 20 --train-batch 16 --workers 0',
  ),
  training(
    'znxlwm/pytorch-generative-model-collections',
    'main.py',
    '--gan_type GAN --dataset mnist --epoch 1 --batch_size 16',
  ),
  training(
    'GMvandeVen/continual-learning',
    'main.py',
    '--experiment=splitMNIST --scenario=task --si --iters=2',
  ),
  training('mil-tokyo/MCD_DA', 'main.py', '--source svhn --target mnist --max_epoch 1', {
    folder: 'classification',
  }),
  training(
    'ritheshkumar95/pytorch-vqvae',
    'vqvae.py',
    '--data-folder data --dataset mnist --num-epochs 1 --hidden-size 8 --num-workers 0',
    { more: ['data'] },
  ),
  training('MishaLaskin/vqvae', 'main.py', '--n_updates 2 --batch_size 8 -save'),
  training('KaiyangZhou/pytorch-center-loss', 'main.py', '--eval-freq 1 --max-epoch 1 --workers 0 --use-cpu'),
  training('corenel/pytorch-adda', 'main.py'),
  training('guoyang9/NCF', 'main.py', '--batch_size=256 --epochs=1'),
  training('shenweichen/DeepCTR-Torch', 'run_classification_criteo.py', '', { folder: 'examples' }),
  training(
    'rixwew/pytorch-fm',
    'main.py',
    '--dataset_name movielens1M --dataset_path ratings.dat --model_name lr --epoch 1 --device cpu',
    { folder: 'examples', data: ['ratings', 'examples/ratings.dat'], more: ['ratings.dat'] },
  ),
  training('ndb796/Pytorch-Adversarial-Training-CIFAR', 'basic_training.py'),
  training(
    'AberHu/Knowledge-Distillation-Zoo',
    'train_base.py',
    '--data_name=cifar10 --net_name=resnet20 --num_class=10 --epochs=1 --cuda=0 --batch_size=16',
  ),
  training('HobbitLong/RepDistiller', 'train_teacher.py', '--model resnet8 --epochs 1 --num_workers 0'),
  training(
    'leaderj1001/Stand-Alone-Self-Attention',
    'main.py',
    '--epochs 1 --batch-size 4 --print-interval 1 --cuda ""',
  ),
  training('rtqichen/torchdiffeq', 'odenet_mnist.py', '--nepochs 1 --batch_size 16 --test_batch_size 16', {
    folder: 'examples',
  }),
  training('dome272/Diffusion-Models-pytorch', 'ddpm.py'),
  training('fducau/AAE_pytorch', 'aae_pytorch_basic.py', '--epochs 1', { folder: 'script' }),
  training('nikhilbarhate99/PPO-PyTorch', 'train.py'),
  training(
    'codertimo/BERT-pytorch',
    'bert_pytorch/__main__.py',
    '-c data/corpus.small -v data/vocab.small -o output/bert.model -e 1',
    { data: ['sentences', 'data'] },
  ),
];
