/** Matrix arithmetic on expressions: sums, products, powers, transposes, determinants. */
import { children, type Expression, negative, number, product, some, sum } from "./expression.ts";

type Rows = readonly (readonly Expression[])[];

const MAX_CELLS = 400;
const MAX_POWER = 64n;

/** Null when there is no matrix in it or its sizes do not fit. */
export function matrixOf(expression: Expression): Rows | null {
  switch (expression.kind) {
    case "matrix":
      return expression.rows.flat().length <= MAX_CELLS ? expression.rows : null;
    case "sum":
      return expression.terms.map(matrixOf).reduce((a, b) => (a === null || b === null ? null : add(a, b)));
    case "product":
      return productOf(expression.factors);
    case "power":
      return powerOf(expression);
    default:
      return null;
  }
}

/** Replaces every determinant by its value. */
export function withoutDeterminants(expression: Expression): Expression {
  if (!some(expression, (node) => node.kind === "call" && (node.name === "det" || node.name === "abs")))
    return expression;
  if (expression.kind === "call" && (expression.name === "det" || expression.name === "abs")) {
    const [inner] = expression.args;
    const rows = inner === undefined ? null : matrixOf(inner);
    if (rows !== null && rows.length === rows[0]?.length && rows.length <= 6) return determinant(rows);
  }
  switch (expression.kind) {
    case "sum":
      return { ...expression, terms: expression.terms.map(withoutDeterminants) };
    case "product":
      return { ...expression, factors: expression.factors.map(withoutDeterminants) };
    case "call":
      return { ...expression, args: expression.args.map(withoutDeterminants) };
    default:
      return expression;
  }
}

function add(a: Rows, b: Rows): Rows | null {
  if (a.length !== b.length || a[0]?.length !== b[0]?.length) return null;
  return a.map((row, i) => row.map((cell, j) => sum([cell, b[i]?.[j] ?? number(0)])));
}

function productOf(factors: readonly Expression[]): Rows | null {
  let scalars: Expression[] = [];
  let result: Rows | null = null;
  for (const factor of factors) {
    const rows = matrixOf(factor);
    if (rows === null) {
      if (some(factor, ({ kind }) => kind === "matrix")) return null;
      scalars = [...scalars, factor];
    } else {
      result = result === null ? rows : multiply(result, rows);
      if (result === null) return null;
    }
  }
  if (result === null || scalars.length === 0) return result;
  return result.map((row) => row.map((cell) => product([...scalars, cell])));
}

function multiply(a: Rows, b: Rows): Rows | null {
  if (a[0]?.length !== b.length) return null;
  return a.map((row) => (b[0] ?? []).map((_, j) => sum(row.map((cell, k) => product([cell, b[k]?.[j] ?? number(0)])))));
}

function powerOf({ base, exponent }: Expression & { kind: "power" }): Rows | null {
  const rows = matrixOf(base);
  if (rows === null) return null;
  if (exponent.kind === "symbol" && /^t$/iu.test(exponent.name)) {
    return (rows[0] ?? []).map((_, j) => rows.map((row) => row[j] ?? number(0)));
  }
  if (exponent.kind !== "number" || exponent.value.denominator !== 1n || rows.length !== rows[0]?.length) return null;
  const times = exponent.value.numerator;
  if (times === -1n && rows.length === 2) return inverse(rows);
  if (times < 1n || times > MAX_POWER) return null;
  let result: Rows | null = rows;
  for (let i = 1n; i < times && result !== null; i++) result = multiply(result, rows);
  return result;
}

function inverse(rows: Rows): Rows {
  const [[a, b] = [], [c, d] = []] = rows;
  const [w, x, y, z] = [a, b, c, d].map((cell) => cell ?? number(0));
  const scale: Expression = { kind: "power", base: determinant(rows), exponent: number(-1) };
  const cells = [
    [z, negative(x ?? number(0))],
    [negative(y ?? number(0)), w],
  ];
  return cells.map((row) => row.map((cell) => product([scale, cell ?? number(0)])));
}

/** By expansion along the first row. */
function determinant(rows: Rows): Expression {
  const [first = []] = rows;
  const [only] = first;
  if (rows.length === 1 && only !== undefined) return only;
  return sum(
    first.map((cell, j) => {
      const minor = determinant(rows.slice(1).map((row) => row.filter((_, k) => k !== j)));
      return product([number(j % 2 === 0 ? 1 : -1), cell, minor]);
    }),
  );
}

export function hasMatrix(expression: Expression): boolean {
  return expression.kind === "matrix" || children(expression).some(hasMatrix);
}

/** A tuple beside a matrix: coordinates beside one row or one column, rows in brackets beside rows. Null for anything else. */
export function rowsOfTuple(expression: Expression, beside: Expression): Rows | null {
  if (expression.kind !== "tuple" || expression.brackets === "") return null;
  const rows = expression.items.map((item) => (item.kind === "tuple" && item.brackets !== "" ? item.items : null));
  const whole = rows.filter((row) => row !== null);
  if (whole.length === rows.length) return whole;
  if (whole.length > 0) return null;
  const matrix = matrixOf(beside);
  const isColumn = matrix?.every((row) => row.length === 1) ?? false;
  return isColumn ? expression.items.map((item) => [item]) : [expression.items];
}
