export { type FitColumn, type FittedTable, fitNames, fitTable, textTable } from './fit-table.ts';
export { shortNames, shortenDistinct, shortestDistinct, startAndEnd } from './shorten.ts';
