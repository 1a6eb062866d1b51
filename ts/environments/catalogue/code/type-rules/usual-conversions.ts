/** usual-conversions: the types of C expressions by promotions and the usual arithmetic conversions. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Type =
  | "char"
  | "short"
  | "unsigned short"
  | "int"
  | "unsigned int"
  | "long"
  | "unsigned long"
  | "long long"
  | "unsigned long long"
  | "float"
  | "double";
type Tree =
  | { do: "name"; name: string }
  | { do: "unary"; sign: "-" | "~" | "!" | "++"; of: Tree }
  | { do: "binary"; sign: "+" | "*" | "<<" | "<" | "&&" | ","; left: Tree; right: Tree }
  | { do: "choice"; test: Tree; yes: Tree; no: Tree }
  | { do: "cast"; type: Type; of: Tree }
  | { do: "sizeof"; of: Tree };
export interface ConversionProblem {
  names: { name: string; type: Type }[];
  expressions: Tree[];
}

/** By level: expressions, operators of each. */
const SIZES = [
  [3, 1],
  [4, 2],
  [5, 3],
  [6, 5],
  [8, 7],
] as const;
/** In the order of ranks; unsigned follows signed. */
const TYPES: readonly Type[] = [
  "char",
  "short",
  "unsigned short",
  "int",
  "unsigned int",
  "long",
  "unsigned long",
  "long long",
  "unsigned long long",
  "float",
  "double",
];

export const usualConversions = itemRow<ConversionProblem>({
  id: "usual-conversions",
  asks: "the types of C expressions with integers of several ranks, shifts, conditions, commas and casts",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) => `${RULES}\n\n${text(one)}\n\nWhich type does each expression have? One line each, in order.`,
    (one) =>
      `C on a 64-bit system. ${RULES}\n\n${text(one)}\n\nState the type of every expression on a line for itself.`,
    (one) =>
      `A macro with _Generic reports the types of these expressions:\n\n${text(one)}\n\n${RULES} What does it report? One type per line.`,
    (one) =>
      `Apply integer promotions and the usual arithmetic conversions.\n\n${text(one)}\n\n${RULES} Give the types in order, each on its line.`,
  ],
});

const RULES =
  "short has 16 bits, int 32, long and long long 64; size_t is unsigned long. Types are written as char, short, unsigned short, int, unsigned int, long, unsigned long, long long, unsigned long long, float, double.";

export function declarations({ names }: ConversionProblem): string {
  return names.map(({ name, type }) => `${type} ${name};`).join("\n");
}

export function expressionTexts({ expressions }: ConversionProblem): string[] {
  return expressions.map((tree) => textOf(tree));
}

function text(problem: ConversionProblem): string {
  return `${declarations(problem)}\n\n${expressionTexts(problem)
    .map((one, index) => `${index + 1}. ${one}`)
    .join("\n")}`;
}

function textOf(tree: Tree, isInner = false): string {
  const inner = (one: Tree): string => textOf(one, true);
  const bracket = (body: string): string => (isInner ? `(${body})` : body);
  switch (tree.do) {
    case "name":
      return tree.name;
    case "unary":
      return tree.of.do === "unary" ? `${tree.sign}(${textOf(tree.of)})` : `${tree.sign}${inner(tree.of)}`;
    case "binary":
      return bracket(`${inner(tree.left)}${tree.sign === "," ? "," : ` ${tree.sign}`} ${inner(tree.right)}`);
    case "choice":
      return bracket(`${inner(tree.test)} ? ${inner(tree.yes)} : ${inner(tree.no)}`);
    case "cast":
      return `(${tree.type})${inner(tree.of)}`;
    case "sizeof":
      return `sizeof(${textOf(tree.of)})`;
  }
}

function make(rng: Rng, level: Level) {
  const [count, operators] = at(SIZES, level - 1);
  const types = shuffled(TYPES, rng).slice(0, 4 + level);
  const names = types.map((type, index) => ({ name: "abcdefghijk".charAt(index), type }));
  const typeOfName = new Map(names.map(({ name, type }) => [name, type]));
  const build = (left: number, integral: boolean): Tree => {
    if (left <= 0) {
      const fitting = names.filter(({ type }) => !integral || (type !== "float" && type !== "double"));
      return { do: "name", name: (fitting.length === 0 ? at(names, 0) : rng.pick(fitting)).name };
    }
    const cut = rng.integer(left);
    switch (rng.integer(12)) {
      case 0:
        return { do: "unary", sign: "~", of: build(left - 1, true) };
      case 1:
        return { do: "unary", sign: rng.pick(["-", "!"] as const), of: build(left - 1, integral) };
      case 2:
        return { do: "unary", sign: "++", of: build(0, integral) };
      case 3:
      case 4:
        return { do: "binary", sign: "<<", left: build(cut, true), right: build(left - 1 - cut, true) };
      case 5:
        return {
          do: "binary",
          sign: rng.pick(["<", "&&"] as const),
          left: build(cut, false),
          right: build(left - 1 - cut, false),
        };
      case 6:
        return { do: "choice", test: build(0, false), yes: build(cut, integral), no: build(left - 1 - cut, integral) };
      case 7:
        return { do: "binary", sign: ",", left: build(0, false), right: build(left - 1, integral) };
      case 8:
        return rng.integer(2) === 0
          ? { do: "sizeof", of: build(left - 1, false) }
          : {
              do: "cast",
              type: rng.pick(
                types.filter((type) => !integral || (type !== "float" && type !== "double")).concat("int"),
              ),
              of: build(left - 1, false),
            };
      default:
        return {
          do: "binary",
          sign: rng.pick(["+", "*"] as const),
          left: build(cut, integral),
          right: build(left - 1 - cut, integral),
        };
    }
  };
  const expressions = range(count).map(() => build(operators, false));
  const problem = { names, expressions };
  const items = expressions.map((tree) => typeOf(tree, typeOfName, "right"));
  if (!names.some(({ type }) => type !== "float" && type !== "double") || new Set(items).size < Math.min(3, count - 1))
    return null;
  const slips = (["promotes", "shifts", "signed"] as const).map((slip) =>
    expressions.map((tree) => typeOf(tree, typeOfName, slip)),
  );
  if (slips.every((miss) => miss.join() === items.join())) return null;
  const size = (tree: Tree): number =>
    1 + Object.values(tree).reduce((sum: number, part) => sum + (typeof part === "object" ? size(part) : 0), 0);
  return {
    problem,
    items,
    misses: slips,
    effort: expressions.reduce((sum, tree) => sum + size(tree), 0) + names.length,
  };
}

/** Slips: small types are not promoted, a shift takes the wider type, or signed wins against unsigned. */
function typeOf(tree: Tree, names: ReadonlyMap<string, Type>, how: "right" | "promotes" | "shifts" | "signed"): Type {
  const own = (one: Tree): Type => typeOf(one, names, how);
  const promoted = (type: Type): Type => (how !== "promotes" && TYPES.indexOf(type) < 3 ? "int" : type);
  const common = (first: Type, second: Type): Type => {
    const [a, b] = [promoted(first), promoted(second)].toSorted((x, y) => TYPES.indexOf(x) - TYPES.indexOf(y));
    const [low, high] = [a ?? "int", b ?? "int"];
    // A signed type of 64 bits holds all of unsigned int, but not all of unsigned long.
    if (low === "unsigned long" && high === "long long") return how === "signed" ? "long long" : "unsigned long long";
    if (how === "signed" && `unsigned ${low}` === high) return low;
    return high;
  };
  switch (tree.do) {
    case "name":
      return names.get(tree.name) ?? "int";
    case "unary":
      return tree.sign === "!" ? "int" : tree.sign === "++" ? own(tree.of) : promoted(own(tree.of));
    case "cast":
      return tree.type;
    case "sizeof":
      return "unsigned long";
    case "choice":
      return common(own(tree.yes), own(tree.no));
    case "binary":
      if (tree.sign === "<" || tree.sign === "&&") return "int";
      if (tree.sign === ",") return own(tree.right);
      return tree.sign === "<<" && how !== "shifts"
        ? promoted(own(tree.left))
        : common(own(tree.left), own(tree.right));
  }
}
