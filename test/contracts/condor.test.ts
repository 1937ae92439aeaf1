import { condorBench } from '../condor/condor-bench.ts';
import { poolContract } from './pool.ts';

poolContract('condor', condorBench);
