/** Where something stands in a submit description or a script; lines count from 1. */
export interface Place {
  file: string;
  line: number;
}
