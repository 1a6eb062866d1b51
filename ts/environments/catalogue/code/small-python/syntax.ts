/** A small part of Python as data: whole numbers, texts, lists of whole numbers, branches and loops. Statements are plain JSON. */

export type Operator = "+" | "-" | "*" | "//" | "%";
export type Comparison = "<" | "<=" | ">" | ">=" | "==" | "!=";

export type Expression =
  | { readonly number: number }
  | { readonly text: string }
  | { readonly name: string }
  | { readonly op: Operator; readonly left: Expression; readonly right: Expression }
  /** An element of a list, or a letter of a text. */
  | { readonly of: string; readonly index: Expression }
  | { readonly length: string }
  /** The text backwards. */
  | { readonly reversed: string };

export interface Test {
  readonly left: Expression;
  readonly is: Comparison;
  readonly right: Expression;
}

export type Statement =
  | { readonly do: "set"; readonly name: string; readonly to: Expression }
  | { readonly do: "list"; readonly name: string; readonly values: readonly number[] }
  | { readonly do: "put"; readonly list: string; readonly index: Expression; readonly to: Expression }
  | { readonly do: "append"; readonly list: string; readonly value: Expression }
  | { readonly do: "print"; readonly values: readonly Expression[] }
  | { readonly do: "if"; readonly test: Test; readonly holds: Program; readonly fails: Program }
  | { readonly do: "while"; readonly test: Test; readonly body: Program }
  | {
      readonly do: "for";
      readonly name: string;
      readonly from: Expression;
      readonly to: Expression;
      readonly step: number;
      readonly body: Program;
    }
  | { readonly do: "each"; readonly name: string; readonly list: string; readonly body: Program }
  | { readonly do: "break" }
  | { readonly do: "continue" };

export type Program = readonly Statement[];

export const number = (value: number): Expression => ({ number: value });
export const name = (called: string): Expression => ({ name: called });
export const operation = (left: Expression, op: Operator, right: Expression): Expression => ({ op, left, right });

/** Lines of source text. `mark` may add a remark to the line of a statement. */
export function linesOfProgram(
  program: Program,
  mark: (statement: Statement) => string = () => "",
  indent = "",
): string[] {
  return program.flatMap((statement) => {
    const inner = (body: Program): string[] => linesOfProgram(body, mark, `${indent}    `);
    const first = `${indent}${head(statement)}${mark(statement)}`;
    if (statement.do === "if") {
      const otherwise = statement.fails.length === 0 ? [] : [`${indent}else:`, ...inner(statement.fails)];
      return [first, ...inner(statement.holds), ...otherwise];
    }
    return "body" in statement ? [first, ...inner(statement.body)] : [first];
  });
}

export function sourceOf(program: Program): string {
  return linesOfProgram(program).join("\n");
}

function head(statement: Statement): string {
  switch (statement.do) {
    case "set":
      return `${statement.name} = ${expressionText(statement.to)}`;
    case "list":
      return `${statement.name} = [${statement.values.join(", ")}]`;
    case "put":
      return `${statement.list}[${expressionText(statement.index)}] = ${expressionText(statement.to)}`;
    case "append":
      return `${statement.list}.append(${expressionText(statement.value)})`;
    case "print":
      return `print(${statement.values.map((value) => expressionText(value)).join(", ")})`;
    case "if":
    case "while":
      return `${statement.do} ${testText(statement.test)}:`;
    case "for": {
      const { from, to, step } = statement;
      const bounds = [expressionText(from), expressionText(to), ...(step === 1 ? [] : [String(step)])];
      const shown = bounds.length === 2 && bounds[0] === "0" ? bounds.slice(1) : bounds;
      return `for ${statement.name} in range(${shown.join(", ")}):`;
    }
    case "each":
      return `for ${statement.name} in ${statement.list}:`;
    case "break":
    case "continue":
      return statement.do;
  }
}

export function testText({ left, is, right }: Test): string {
  return `${expressionText(left)} ${is} ${expressionText(right)}`;
}

/** With brackets around every inner operation, except sums of products. */
export function expressionText(expression: Expression, isInner = false): string {
  if ("number" in expression) return String(expression.number);
  if ("text" in expression) return `"${expression.text}"`;
  if ("name" in expression) return expression.name;
  if ("of" in expression) return `${expression.of}[${expressionText(expression.index)}]`;
  if ("length" in expression) return `len(${expression.length})`;
  if ("reversed" in expression) return `${expression.reversed}[::-1]`;
  const { left, op, right } = expression;
  const text = `${expressionText(left, true)} ${op} ${expressionText(right, true)}`;
  return isInner ? `(${text})` : text;
}
