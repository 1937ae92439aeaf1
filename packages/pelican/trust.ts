export { missingTrust, sentAuthorities } from './http/trust.ts';
