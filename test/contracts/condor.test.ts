import { condorHarness } from '../condor/condor-harness.ts';
import { poolContract } from './pool.ts';

poolContract('condor', condorHarness);
