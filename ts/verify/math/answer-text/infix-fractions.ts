/** TeX's infix fractions, `{a \over b}` and `{n \choose k}`, as commands with two arguments. */

const INFIX = /\\(over|choose|atop)(?![a-zA-Z])/u;
const COMMAND: Readonly<Record<string, string>> = { over: "\\frac", choose: "\\binom" };
/** More of them than anyone writes. */
const MOST = 200;

/** The texts between the braces around the command are its two arguments; without braces the whole text is. */
export function prefixFractions(text: string): string {
  let out = text;
  for (let count = 0; count < MOST; count++) {
    const found = INFIX.exec(out);
    const command = COMMAND[found?.[1] ?? ""];
    if (found === null || command === undefined) return out;
    const [start, end] = [opening(out, found.index), closing(out, found.index + found[0].length)];
    const [numerator, denominator] = [out.slice(start, found.index), out.slice(found.index + found[0].length, end)];
    out = `${out.slice(0, start)}${command}{${numerator.trim()}}{${denominator.trim()}}${out.slice(end)}`;
  }
  return out;
}

/** Index behind the brace that is open at `at`. */
function opening(text: string, at: number): number {
  let depth = 0;
  for (let index = at - 1; index >= 0; index--) {
    if (text[index - 1] === "\\") continue;
    if (text[index] === "}") depth++;
    else if (text[index] === "{" && depth-- === 0) return index + 1;
  }
  return 0;
}

/** Index of the brace that closes what is open at `at`. */
function closing(text: string, at: number): number {
  let depth = 0;
  for (let index = at; index < text.length; index++) {
    if (text[index] === "\\") index++;
    else if (text[index] === "{") depth++;
    else if (text[index] === "}" && depth-- === 0) return index;
  }
  return text.length;
}
