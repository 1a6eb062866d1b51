/** Programs of replies as LiveCodeBench's grader takes and starts them. */

/** The grader imports these before a program, all names of them, in this order: a later module hides names of an earlier one. */
const WHOLE = [
  "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json",
  "builtins typing",
].flatMap((names) => names.split(" "));
const NAMED = WHOLE.filter((name) => name !== "builtins" && name !== "typing");

const PRELUDE = [
  ...WHOLE.map((name) => `from ${name} import *`),
  ...NAMED.map((name) => `import ${name}`),
  "sys.setrecursionlimit(50000)",
  "",
].join("\n");

/** The lines between the last two that have a fence; "" without two of them. */
export function fencedProgram(reply: string): string {
  const lines = reply.split("\n");
  const fences = lines.flatMap((line, index) => (line.includes("```") ? [index] : []));
  const [open, close] = fences.slice(-2);
  return open === undefined || close === undefined ? "" : lines.slice(open + 1, close).join("\n");
}

/** The whole program. A class `Solution` has to have the function: the grader does not look for it elsewhere then. */
export function gradedProgram(code: string, functionName: string | null): string {
  const isClass = functionName !== null && code.includes("class Solution");
  const name = JSON.stringify(functionName);
  const check = isClass ? `\nif not hasattr(Solution, ${name}):\n    raise AttributeError(${name})\n` : "";
  return `${PRELUDE}${code}${check}`;
}
