export { UnxzStage } from './unxz.ts';
