export { type LoginRequest, logIn, revoke } from './federation/login/log-in.ts';
export { LoginStore, type StoredLogin } from './federation/login/login-store.ts';
export { type LoginTokensContext, createLoginTokens, renew } from './federation/login/oauth.ts';
