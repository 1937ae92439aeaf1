export { DeviceFlow } from './federation/device-flow.ts';
export type { FederationOptions } from './federation/federation.ts';
export { multistatus } from './federation/namespace.ts';
export { Trouble } from './federation/trouble.ts';
export { randomPort } from './federation/web-server.ts';
export { type Certificate, type CertificateAuthority, makeCertificateAuthority } from './federation/x509.ts';
export { insideHome, poolFolders } from './pool/condor-config.ts';
export { enterCommand, enterRootScript, type MiniPoolOptions } from './pool/pool.ts';
export { poolUser } from './pool/root-folder.ts';
