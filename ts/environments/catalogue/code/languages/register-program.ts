/** register-program: straight-line code for an expression on a machine with few registers. Any code that computes it is right. */
import { between } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, linesOf, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";

type Tree =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "binary"; readonly sign: Sign; readonly left: Tree; readonly right: Tree };
type Sign = "+" | "-" | "*";
interface Problem {
  text: string;
  names: string[];
  registers: number;
  /** Most instructions. */
  most: number;
  gold: string[];
}

/** By level: operations of the expression, registers. */
const SIZES = [
  [2, 2],
  [4, 2],
  [6, 3],
  [9, 3],
  [13, 3],
] as const;
const CODES: Readonly<Record<string, Sign>> = { add: "+", sub: "-", mul: "*" };
const PRIME = 1_000_003;
/** Inputs on which the code runs. */
const RUNS = 6;

export const registerProgram = defineRow<Problem>({
  id: "register-program",
  asks: "code for an expression on a machine with as few registers as possible and few instructions",
  place: "answer",
  make,
  effort: ({ gold, registers }) => gold.length + registers,
  canonical: ({ text, registers }) => ({ text, registers }),
  prompts: [
    (one) =>
      `${machine(one)}\n\nCompute\n\n${one.text}\n\nwith at most ${one.most} instructions, the result in r1. Give the program, one instruction a line.`,
    (one) =>
      `Compile ${one.text} for this machine. ${machine(one)} The value must end in r1, after no more than ${one.most} instructions. One instruction per line.`,
    (one) =>
      `Expression: ${one.text}\n\nTarget: ${machine(one)}\n\nWrite straight-line code of ${one.most} instructions or fewer that leaves the value of the expression in r1 (one instruction on each line, nothing else).`,
    (one) =>
      `There are only ${one.registers} registers. ${machine(one)}\n\nThe code generator shall evaluate\n${one.text}\ninto r1 and may spend ${one.most} instructions. Write its output, a line for each instruction.`,
  ],
  gold: ({ gold }) => gold.join("\n"),
  nearMisses: (one) => missesOf(one),
  variants: ({ gold }) => [gold.join("\n").toUpperCase(), gold.join("\n\n")],
  score: (one, answer) => Number(isRight(one, linesOf(answer))),
});

function machine({ registers, names }: Problem): string {
  const all = range(registers).map((index) => `r${index + 1}`);
  return `It has the registers ${all.join(", ")} and nothing else to write to; the inputs ${names.join(", ")} are in memory that can only be read. Instructions: "load rX, name" copies an input; "add rX, rY", "sub rX, rY" and "mul rX, rY" combine the two registers into rX (sub: rX - rY); their second operand may also be an input name, as in "sub r2, a".`;
}

/** The value in r1 for some inputs; null where the code is no program of the machine. Values are remainders, which keeps them exact. */
function valueOf(lines: readonly string[], registers: number, inputs: ReadonlyMap<string, bigint>): bigint | null {
  const held = new Map<string, bigint>();
  for (const line of lines) {
    const [, code = "", target = "", operand = ""] =
      /^(load|add|sub|mul)\s+(r\d)\s*,\s*([a-z]\d?)$/u.exec(line.toLowerCase()) ?? [];
    const number = Number(target.slice(1));
    if (code === "" || number < 1 || number > registers) return null;
    const value = /^r\d$/u.test(operand) ? held.get(operand) : inputs.get(operand);
    const old = held.get(target);
    if (value === undefined || (code === "load" && operand.startsWith("r"))) return null;
    if (code === "load") held.set(target, value);
    else if (old === undefined) return null;
    else held.set(target, combine(CODES[code] ?? "+", old, value));
  }
  return held.get("r1") ?? null;
}

function combine(sign: Sign, a: bigint, b: bigint): bigint {
  const value = sign === "+" ? a + b : sign === "-" ? a - b : a * b;
  const prime = BigInt(PRIME);
  return ((value % prime) + prime) % prime;
}

function treeValue(tree: Tree, inputs: ReadonlyMap<string, bigint>): bigint {
  if (tree.kind === "name") return inputs.get(tree.name) ?? 0n;
  return combine(tree.sign, treeValue(tree.left, inputs), treeValue(tree.right, inputs));
}

/** Two programs with equal values at these inputs are equal polynomials, apart from a chance of about degree / prime for each. */
function inputsOf(names: readonly string[]): Map<string, bigint>[] {
  const rng = createRng(names.length);
  return range(RUNS).map(() => new Map(names.map((name) => [name, BigInt(between(rng, 2, PRIME - 1))])));
}

function isRight({ gold, names, registers, most }: Problem, lines: readonly string[]): boolean {
  if (lines.length > most) return false;
  return inputsOf(names).every((inputs) => {
    const value = valueOf(lines, registers, inputs);
    return value !== null && value === valueOf(gold, registers, inputs);
  });
}

/** Registers that a tree needs, where an input can be a second operand (Sethi and Ullman 1970). */
function needOf(tree: Tree): number {
  if (tree.kind === "name") return 1;
  if (tree.right.kind === "name") return needOf(tree.left);
  const [left, right] = [needOf(tree.left), needOf(tree.right)];
  return left === right ? left + 1 : Math.max(left, right);
}

/** Code that leaves the tree in the first of the free registers; the subtree with the larger need comes first. */
function codeOf(tree: Tree, free: readonly number[]): string[] {
  const [first = 0, second = 0, ...rest] = free;
  if (tree.kind === "name") return [`load r${first}, ${tree.name}`];
  const code = Object.entries(CODES).find(([, sign]) => sign === tree.sign)?.[0] ?? "";
  if (tree.right.kind === "name") return [...codeOf(tree.left, free), `${code} r${first}, ${tree.right.name}`];
  if (needOf(tree.left) >= needOf(tree.right))
    return [...codeOf(tree.left, free), ...codeOf(tree.right, [second, ...rest]), `${code} r${first}, r${second}`];
  return [
    ...codeOf(tree.right, [second, first, ...rest]),
    ...codeOf(tree.left, [first, ...rest]),
    `${code} r${first}, r${second}`,
  ];
}

function textOf(tree: Tree): string {
  if (tree.kind === "name") return tree.name;
  const side = (one: Tree): string => (one.kind === "name" ? one.name : `(${textOf(one)})`);
  return `${side(tree.left)} ${tree.sign} ${side(tree.right)}`;
}

function missesOf({ gold, registers }: Problem): string[] {
  const swapped = gold.map((line) => line.replace(/^sub (r\d), (r\d)$/u, "sub $2, $1"));
  const signs = gold.map((line, index) =>
    index === gold.length - 1 ? line.replace(/^\w+/u, (code) => (code === "add" ? "sub" : "add")) : line,
  );
  const more = gold.map((line) => line.replaceAll(`r${registers}`, `r${registers + 1}`));
  return [gold.slice(0, -1), gold.slice(1), signs, [...gold, at(gold, gold.length - 1)], more, swapped]
    .filter((lines) => lines.join() !== gold.join())
    .map((lines) => lines.join("\n"));
}

function make(rng: Rng, level: Level): Problem | null {
  const [size, registers] = at(SIZES, level - 1);
  const names = "abcdefgh".slice(0, Math.min(8, size + 1)).split("");
  const draw = (left: number): Tree => {
    if (left === 0) return { kind: "name", name: rng.pick(names) };
    const part = rng.integer(left);
    return {
      kind: "binary",
      sign: rng.pick(["+", "-", "-", "*"] as const),
      left: draw(part),
      right: draw(left - 1 - part),
    };
  };
  const tree = draw(size);
  if (needOf(tree) !== registers) return null;
  const gold = codeOf(
    tree,
    range(registers).map((index) => index + 1),
  );
  const problem = { text: textOf(tree), names, registers, most: gold.length + (level < 3 ? 2 : 0), gold };
  const inputs = inputsOf(names);
  if (inputs.some((one) => valueOf(gold, registers, one) !== treeValue(tree, one))) return null;
  return missesOf(problem).some((miss) => isRight(problem, miss.split("\n"))) ? null : problem;
}
