export {
  type MetricDirections,
  byImportance,
  hundredth,
  isAccuracy,
  isLowerBetter,
  joinDirections,
} from './metric-direction.ts';
export { lastSaid, lastTraceback, ofFailingRank, ofRankZero, raisedAt, tracebackFrom } from './traceback.ts';
