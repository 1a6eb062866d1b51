/** Hazards of texts, between Python and JavaScript: code points and UTF-16 units, splitting, replacing, parsing. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { constant as k, type Hazard, LETTERS, text } from "./hazard.ts";

const letterOf = (constants: readonly bigint[], index: number): string => LETTERS[Number(k(constants, index))] ?? "a";
const letter = (rng: Rng): bigint => BigInt(rng.integer(LETTERS.length));
const fromPython = { from: "python", takes: "text" } as const;
const fromScript = { from: "javascript", takes: "text" } as const;

function stripped(value: string, set: string): string {
  const letters = Array.from(value);
  while (letters.length > 0 && set.includes(letters[0] ?? "")) letters.shift();
  while (letters.length > 0 && set.includes(letters.at(-1) ?? "")) letters.pop();
  return letters.join("");
}

function upperFirst(value: string): string {
  const [first = "", ...rest] = Array.from(value);
  return first.toUpperCase() + rest.join("");
}

export const TEXT_HAZARDS: readonly Hazard[] = [
  {
    ...fromPython,
    id: "length-in-code-points",
    gives: "int",
    draw: () => [],
    source: "len($x)",
    value: (x) => BigInt(Array.from(text(x)).length),
    ports: {
      javascript: { right: "BigInt([...$x].length)", wrong: "BigInt($x.length)", slip: (x) => BigInt(text(x).length) },
    },
  },
  {
    ...fromPython,
    id: "index-in-code-points",
    gives: "int",
    draw: (rng) => [letter(rng)],
    source: '$x.find("$c0")',
    value: (x, c) => BigInt(Array.from(text(x)).indexOf(letterOf(c, 0))),
    ports: {
      javascript: {
        right: 'BigInt([...$x].indexOf("$c0"))',
        wrong: 'BigInt($x.indexOf("$c0"))',
        slip: (x, c) => BigInt(text(x).indexOf(letterOf(c, 0))),
      },
    },
  },
  {
    ...fromPython,
    id: "last-letters",
    gives: "text",
    draw: (rng) => [BigInt(between(rng, 2, 5))],
    source: "$x[-$0:]",
    value: (x, c) =>
      Array.from(text(x))
        .slice(-Number(k(c, 0)))
        .join(""),
    ports: {
      javascript: { right: '[...$x].slice(-$#0).join("")', wrong: "$x.substring(-$#0)", slip: (x) => x },
    },
  },
  {
    ...fromPython,
    id: "split-at-any-space",
    gives: "text",
    draw: () => [],
    source: '"|".join($x.split())',
    value: (x) => text(x).trim().split(/ +/u).join("|"),
    ports: {
      javascript: {
        right: '$x.trim().split(/\\s+/).join("|")',
        wrong: '$x.split(" ").join("|")',
        slip: (x) => text(x).split(" ").join("|"),
      },
    },
  },
  {
    ...fromPython,
    id: "replace-all",
    gives: "text",
    draw: (rng) => [letter(rng)],
    source: '$x.replace("$c0", "uu")',
    value: (x, c) => text(x).replaceAll(letterOf(c, 0), "uu"),
    ports: {
      javascript: {
        right: '$x.replaceAll("$c0", "uu")',
        wrong: '$x.replace("$c0", "uu")',
        slip: (x, c) => text(x).replace(letterOf(c, 0), "uu"),
      },
    },
  },
  {
    ...fromPython,
    id: "capitalize",
    gives: "text",
    draw: () => [],
    source: "$x.capitalize()",
    value: (x) => upperFirst(text(x).toLowerCase()),
    ports: {
      javascript: {
        right: "capital($x)",
        wrong: "upperFirst($x)",
        slip: (x) => upperFirst(text(x)),
        helpers: ["capital", "upperFirst"],
      },
    },
  },
  {
    ...fromPython,
    id: "strip-a-set",
    gives: "text",
    draw: (rng) => [letter(rng)],
    source: '$x.strip("$c0- ")',
    value: (x, c) => stripped(text(x), `${letterOf(c, 0)}- `),
    ports: {
      javascript: {
        right: 'stripSet($x, "$c0- ")',
        wrong: "$x.trim()",
        slip: (x) => text(x).trim(),
        helpers: ["stripSet"],
      },
    },
  },
  {
    ...fromPython,
    id: "split-with-limit",
    gives: "text",
    draw: () => [],
    source: '$x.split("-", 1)[-1]',
    value: (x) => text(x).slice(text(x).indexOf("-") + 1),
    ports: {
      javascript: {
        right: '$x.slice($x.indexOf("-") + 1)',
        wrong: '$x.split("-", 1).at(-1)',
        slip: (x) => text(x).split("-", 1).at(-1) ?? "",
      },
    },
  },
  {
    ...fromScript,
    id: "length-in-units",
    gives: "int",
    draw: () => [],
    source: "$x.length",
    value: (x) => BigInt(text(x).length),
    ports: {
      python: {
        right: '(len($x.encode("utf-16-le")) // 2)',
        wrong: "len($x)",
        slip: (x) => BigInt(Array.from(text(x)).length),
      },
    },
  },
  {
    ...fromScript,
    id: "index-in-units",
    gives: "int",
    draw: (rng) => [letter(rng)],
    source: '$x.indexOf("$c0")',
    value: (x, c) => BigInt(text(x).indexOf(letterOf(c, 0))),
    ports: {
      python: {
        right: 'unit_index($x, "$c0")',
        wrong: '$x.find("$c0")',
        slip: (x, c) => BigInt(Array.from(text(x)).indexOf(letterOf(c, 0))),
        helpers: ["unit_index"],
      },
    },
  },
  {
    ...fromScript,
    id: "replace-first",
    gives: "text",
    draw: (rng) => [letter(rng)],
    source: '$x.replace("$c0", "uu")',
    value: (x, c) => text(x).replace(letterOf(c, 0), "uu"),
    ports: {
      python: {
        right: '$x.replace("$c0", "uu", 1)',
        wrong: '$x.replace("$c0", "uu")',
        slip: (x, c) => text(x).replaceAll(letterOf(c, 0), "uu"),
      },
    },
  },
  {
    ...fromScript,
    id: "substring-swaps",
    gives: "text",
    plain: true,
    draw: (rng) => [BigInt(between(rng, 4, 7)), BigInt(between(rng, 0, 2))],
    source: "$x.substring($0, $1)",
    value: (x, c) => text(x).substring(Number(k(c, 0)), Number(k(c, 1))),
    ports: { python: { right: "$x[$1:$0]", wrong: "$x[$0:$1]", slip: () => "" } },
  },
  {
    ...fromScript,
    id: "split-keeps-empty-parts",
    gives: "int",
    draw: () => [],
    source: '$x.split(" ").length',
    value: (x) => BigInt(text(x).split(" ").length),
    ports: {
      python: {
        right: 'len($x.split(" "))',
        wrong: "len($x.split())",
        slip: (x) =>
          BigInt(
            text(x)
              .split(" ")
              .filter((part) => part !== "").length,
          ),
      },
    },
  },
  {
    ...fromScript,
    id: "split-drops-the-rest",
    gives: "text",
    draw: () => [],
    source: '$x.split("-", 2).join("+")',
    value: (x) => text(x).split("-", 2).join("+"),
    ports: {
      python: {
        right: '"+".join($x.split("-")[:2])',
        wrong: '"+".join($x.split("-", 2))',
        slip: (x) => {
          const [first = "", second, ...rest] = text(x).split("-");
          return [
            first,
            ...(second === undefined ? [] : [second]),
            ...(rest.length === 0 ? [] : [rest.join("-")]),
          ].join("+");
        },
      },
    },
  },
  {
    ...fromScript,
    id: "parse-a-prefix",
    gives: "int",
    draw: () => [],
    source: "(parseInt($x, 10) || 0)",
    value: (x) => BigInt(Number.parseInt(text(x), 10) || 0),
    ports: {
      python: {
        right: "prefix_number($x)",
        wrong: "whole_number($x)",
        slip: (x) => (/^ *-?[0-9]+ *$/u.test(text(x)) ? BigInt(Number(text(x))) : 0n),
        helpers: ["prefix_number", "whole_number"],
      },
    },
  },
];
