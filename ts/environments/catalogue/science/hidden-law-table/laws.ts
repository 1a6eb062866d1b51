/** The laws of hidden-law-table: each has two parameters, which are whole numbers of a range. */

export interface Law {
  readonly id: string;
  /** As prompts show it; `^` is a power, angles are in radians. */
  readonly text: string;
  readonly a: readonly [from: number, to: number];
  readonly b: readonly [from: number, to: number];
  readonly value: (x: number, a: number, b: number) => number;
}

const SCALE = [5, 60] as const;
const WIDTH = [2, 15] as const;
const SMALL = [1, 12] as const;

export const LAWS: readonly Law[] = [
  { id: "line", text: "a + b*x", a: SCALE, b: SMALL, value: (x, a, b) => a + b * x },
  { id: "falling line", text: "a - b*x", a: [40, 120], b: [1, 4], value: (x, a, b) => a - b * x },
  { id: "square", text: "a + b*x^2", a: SCALE, b: [1, 4], value: (x, a, b) => a + b * x * x },
  { id: "line and square", text: "a*x + b*x^2", a: SMALL, b: [1, 4], value: (x, a, b) => a * x + b * x * x },
  { id: "root", text: "a + b*sqrt(x)", a: SCALE, b: WIDTH, value: (x, a, b) => a + b * Math.sqrt(x) },
  { id: "inverse", text: "a + b/x", a: SCALE, b: [10, 90], value: (x, a, b) => a + b / x },
  { id: "logarithm", text: "a + b*ln(x)", a: SCALE, b: WIDTH, value: (x, a, b) => a + b * Math.log(x) },
  { id: "decay", text: "a*exp(-x/b)", a: [20, 90], b: WIDTH, value: (x, a, b) => a * Math.exp(-x / b) },
  { id: "approach", text: "a*(1 - exp(-x/b))", a: [20, 90], b: WIDTH, value: (x, a, b) => a * (1 - Math.exp(-x / b)) },
  { id: "saturation", text: "a*x/(b + x)", a: [20, 90], b: WIDTH, value: (x, a, b) => (a * x) / (b + x) },
  {
    id: "steep saturation",
    text: "a*x^2/(b^2 + x^2)",
    a: [20, 90],
    b: WIDTH,
    value: (x, a, b) => (a * x * x) / (b * b + x * x),
  },
  { id: "doubling", text: "a*2^(x/b)", a: [2, 30], b: [4, 15], value: (x, a, b) => a * 2 ** (x / b) },
  { id: "hyperbola", text: "a/(1 + x/b)", a: [20, 90], b: WIDTH, value: (x, a, b) => a / (1 + x / b) },
  { id: "bell of squares", text: "a/(1 + (x/b)^2)", a: [20, 90], b: WIDTH, value: (x, a, b) => a / (1 + (x / b) ** 2) },
  { id: "bell", text: "a*exp(-(x/b)^2)", a: [20, 90], b: [4, 18], value: (x, a, b) => a * Math.exp(-((x / b) ** 2)) },
  { id: "rise and decay", text: "a*x*exp(-x/b)", a: [5, 40], b: [2, 12], value: (x, a, b) => a * x * Math.exp(-x / b) },
  { id: "shifted root", text: "a*sqrt(x + b)", a: [3, 30], b: WIDTH, value: (x, a, b) => a * Math.sqrt(x + b) },
  { id: "distance", text: "a*|x - b|", a: SMALL, b: [2, 20], value: (x, a, b) => a * Math.abs(x - b) },
  { id: "ceiling", text: "a*min(x, b)", a: SMALL, b: [4, 20], value: (x, a, b) => a * Math.min(x, b) },
  { id: "threshold", text: "a*max(0, x - b)", a: SMALL, b: [2, 12], value: (x, a, b) => a * Math.max(0, x - b) },
  { id: "late logarithm", text: "a*ln(1 + x/b)", a: [10, 60], b: WIDTH, value: (x, a, b) => a * Math.log(1 + x / b) },
  { id: "tangent", text: "a*tanh(x/b)", a: [20, 90], b: WIDTH, value: (x, a, b) => a * Math.tanh(x / b) },
  { id: "line and inverse", text: "a*x + b/x", a: SMALL, b: [10, 90], value: (x, a, b) => a * x + b / x },
  {
    id: "branch of a hyperbola",
    text: "sqrt(a^2 + (b*x)^2)",
    a: [10, 60],
    b: SMALL,
    value: (x, a, b) => Math.sqrt(a * a + b * b * x * x),
  },
  { id: "cube", text: "a + b*x^3/100", a: SCALE, b: WIDTH, value: (x, a, b) => a + (b * x ** 3) / 100 },
  { id: "power", text: "a*x^(b/4)", a: SMALL, b: [1, 8], value: (x, a, b) => a * x ** (b / 4) },
  { id: "wave", text: "a + b*sin(x)", a: SCALE, b: WIDTH, value: (x, a, b) => a + b * Math.sin(x) },
  { id: "slow wave", text: "a + b*cos(x/4)", a: SCALE, b: WIDTH, value: (x, a, b) => a + b * Math.cos(x / 4) },
  { id: "parabola", text: "a*(1 - x/b)^2", a: [10, 60], b: [6, 24], value: (x, a, b) => a * (1 - x / b) ** 2 },
  { id: "peak", text: "a*x/(b + x)^2", a: [200, 290], b: WIDTH, value: (x, a, b) => (a * x) / (b + x) ** 2 },
];
