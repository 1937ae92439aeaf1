export { detectArchive } from './kind-gate.ts';
