import { slurmBench } from '../slurm/slurm-bench.ts';
import { poolContract } from './pool.ts';

poolContract('slurm', slurmBench);
