import { slurmHarness } from '../slurm/slurm-harness.ts';
import { poolContract } from './pool.ts';

poolContract('slurm', slurmHarness);
