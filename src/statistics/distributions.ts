/** The probability that a chi-square variable exceeds `x`. */
export function chiSquareTail(x: number, freedom: number): number {
  if (x <= 0) return 1;
  const [shape, half] = [freedom / 2, x / 2];
  return half < shape + 1 ? 1 - lowerGamma(shape, half) : upperGamma(shape, half);
}

/** The probability that a standard normal variable is further from 0 than `z`, on either side. */
export const normalTails = (z: number): number => chiSquareTail(z * z, 1);

/** The regularized lower incomplete gamma function, by its series. */
function lowerGamma(shape: number, x: number): number {
  let term = 1 / shape;
  let sum = term;
  for (let step = 1; step < 1000 && term > sum * 1e-15; step++) {
    term *= x / (shape + step);
    sum += term;
  }
  return sum * Math.exp(shape * Math.log(x) - x - logGamma(shape));
}

/** The regularized upper incomplete gamma function, by its continued fraction (Lentz). */
function upperGamma(shape: number, x: number): number {
  let b = x + 1 - shape;
  let c = 1e300;
  let d = 1 / b;
  let fraction = d;
  for (let step = 1; step < 1000; step++) {
    const a = -step * (step - shape);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return fraction * Math.exp(shape * Math.log(x) - x - logGamma(shape));
}

/** For positive multiples of a half, which are all that chi-square needs. */
function logGamma(x: number): number {
  let sum = 0;
  let rest = x;
  for (; rest > 1; rest -= 1) sum += Math.log(rest - 1);
  return rest === 1 ? sum : sum + Math.log(Math.PI) / 2;
}
