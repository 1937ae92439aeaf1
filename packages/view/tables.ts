export { type FitColumn, type FittedTable, fitTable } from './tables/fit-table.ts';
export { shortNames, shortenDistinct, shortestDistinct, startAndEnd } from './tables/shorten.ts';
