export { IdleConnections, firstAnswer } from './http/connections.ts';
export { NoAnswer } from './http/no-answer.ts';
export { type ControlAnswer, type Request, createRequest } from './http/exchange.ts';
