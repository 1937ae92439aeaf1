export { missingTrust, sentAuthorities, trustElsewhere } from './http/trust.ts';
