import { condorHarness } from '../condor/condor-harness.ts';
import { meetingPlace, testPool } from '../pool.ts';
import { poolContract } from './pool.ts';

poolContract('condor', condorHarness, async (t) => {
  const pool = await testPool(t);
  return pool === undefined ? undefined : await meetingPlace(pool.home);
});
