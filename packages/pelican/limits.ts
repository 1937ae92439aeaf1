export {
  type TransferLimits,
  defaultTransferLimits,
  limitsFromEnv,
  stallSeconds,
} from './transfer/limits.ts';
