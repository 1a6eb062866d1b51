/**
 * A loader hook that makes code count where it runs: each function, branch, loop, case and right side of a logical operator gets a number, and adds one
 * to its counter in `globalThis.prlFuzzCounters` when it is entered.
 *
 * V8 has such counters too (`Profiler.takePreciseCoverage`), but it reads those of all loaded code at once, which is slow with all of prl; these are an
 * array. It is JavaScript, because Node loads hooks in a thread that has no loader of TypeScript.
 */
import { parseAst } from "rolldown/parseAst";

/** Code that reads foreign bytes: prl's, and the packages that it reads formats with. */
const READERS = /\/ts\/.*\.ts$|\/node_modules\/(?:smol-toml|hyparquet|eventsource-parser|markdown-it)\/.*\.m?js$/u;

/** Numbers that have been given. Counters beyond their array count nothing. */
let numbers = 0;

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  const path = url.replace(/\?.*$/u, "");
  if (loaded.format !== "module" || !READERS.test(path) || loaded.source === undefined) return loaded;
  return { ...loaded, source: counting(Buffer.from(loaded.source).toString("utf8")) };
}

/** The source with counters. Lines keep their numbers. */
function counting(source) {
  const before = new Map();
  const after = new Map();
  const add = (places, at, text) => places.set(at, (places.get(at) ?? "") + text);
  const count = () => `prlFuzz[${numbers++}]++`;
  const statement = (node) => {
    if (node.type === "BlockStatement") return add(before, node.start + 1, `${count()};`);
    add(before, node.start, `{${count()};`);
    node.ends = "}";
  };
  const expression = (node) => {
    add(before, node.start, `(${count()},`);
    node.ends = ")";
  };
  const visit = (node) => {
    mark(node, statement, expression, (at) => add(before, at, `${count()};`));
    for (const [key, child] of Object.entries(node)) {
      if (key !== "ends" && typeof child === "object" && child !== null)
        for (const one of [child].flat()) if (typeof one?.type === "string") visit(one);
    }
    if (node.ends !== undefined) add(after, node.end, node.ends);
  };
  visit(parseAst(source));
  const places = [...new Set([...before.keys(), ...after.keys()])].toSorted((a, b) => a - b);
  let text = "const prlFuzz = globalThis.prlFuzzCounters;";
  let from = 0;
  for (const at of places) {
    text += source.slice(from, at) + (after.get(at) ?? "") + (before.get(at) ?? "");
    from = at;
  }
  return text + source.slice(from);
}

/** Puts counters into the parts of a node that may run without the others. */
function mark(node, statement, expression, place) {
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      if (node.body === null) return;
      if (node.body.type === "BlockStatement") statement(node.body);
      else expression(node.body);
      return;
    case "IfStatement":
      statement(node.consequent);
      if (node.alternate !== null) statement(node.alternate);
      return;
    case "ForStatement":
    case "ForInStatement":
    case "ForOfStatement":
    case "WhileStatement":
    case "DoWhileStatement":
      statement(node.body);
      return;
    case "CatchClause":
      statement(node.body);
      return;
    case "SwitchCase":
      if (node.consequent.length > 0) place(node.consequent[0].start);
      return;
    case "ConditionalExpression":
      expression(node.consequent);
      expression(node.alternate);
      return;
    case "LogicalExpression":
      expression(node.right);
      return;
    default:
  }
}
