/** No wait of a test is this long, however busy the machine is: only one for what will never come. */
export const hangMs = 1_200_000;
