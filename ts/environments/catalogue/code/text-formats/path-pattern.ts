/** path-pattern: which names a wildcard pattern of a described kind matches. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const pathPattern = variantRow({
  id: "path-pattern",
  asks: "the paths that a wildcard pattern with classes, braces, deep stars and negation matches",
  name: "matches",
  parameters: ["pattern", "paths"],
  extras: ["hidden", "deep", "class", "digit", "optional", "fold", "suffix"],
  counts: [1, 2, 3, 5, 6],
  constants: (rng) => ({
    one: rng.pick("?.@"),
    any: rng.pick("*%~"),
    digit: rng.pick("#&"),
    maybe: rng.pick("+^"),
    most: between(rng, 2, 5),
  }),
  stories: [
    "A backup tool selects files by patterns.",
    "Rules of a build name their sources with wildcards.",
    "A search over object names uses patterns of a special kind.",
    "Subscriptions to topics are written as patterns.",
  ],
  rules: `
A pattern matches a path if it describes all of it. Ordinary characters stand for themselves.
{{one}} stands for any one character but /.
{{any}} stands for any characters but /, from none to {{most}} of them. #!deep
{{any}} stands for any characters but /, from none to {{most}} of them; {{any}}{{any}} stands for any number of any characters, also /. #?deep
{{digit}} stands for one digit. #?digit
[xyz] stands for one of the characters in the brackets, [!xyz] for any one character but those and /. #?class
{{maybe}} behind an ordinary character or a bracket expression says that it may also be missing. #?optional
Upper and lower case of letters are equal. #?fold
A dot at the beginning of the path, or directly behind a /, is only matched by a dot in the pattern. #?hidden
A pattern also matches a path that begins with what it describes, if a / stands there next. #?suffix
`,
  types: `
The first argument is the pattern, the second a list of different paths. The result is the list of the paths that it matches, in their order.
`,
  calls({ one, any, digit, maybe }, rng, on) {
    const name = (): string =>
      range(between(rng, 1, 4))
        .map(() => rng.pick(on("fold") ? "abAB1" : "ab1"))
        .join("");
    const path = (): string =>
      range(between(rng, 1, 3))
        .map(() => (on("hidden") && rng.integer(4) === 0 ? `,${name()}` : name()))
        .join("/");
    const dotted = (text: string): string => text.replaceAll(",", ".");
    const pattern = (base: string): string => {
      let out = "";
      for (let index = 0; index < base.length; index++) {
        const kind = rng.integer(8);
        const now = base.charAt(index);
        if (now === "/" || now === ",") out += now === "/" && on("deep") && rng.integer(4) === 0 ? any + any : now;
        else if (kind === 0) out += one;
        else if (kind <= 2) {
          out += any;
          index += rng.integer(3);
        } else if (kind === 3 && on("class")) out += rng.pick([`[${now}x]`, `[!${rng.pick("ab1")}]`, "[a1]"]);
        else if (kind === 4 && on("digit")) out += digit;
        else out += now + (kind === 5 && on("optional") ? maybe : "");
      }
      return out;
    };
    const some = (count: number): Json[][] =>
      range(8).map(() => {
        const paths = [...new Set(range(count).map(path))];
        const text = pattern(rng.pick(paths)).replaceAll(",", ".");
        const near = paths.map((given) => given.replace(/[ab]/u, rng.pick("ab1")));
        return [text, [...new Set([...paths, ...near, `${paths[0] ?? ""}/b`, `.${paths[1] ?? ""}`].map(dotted))]];
      });
    return { few: some(6), more: some(9), many: some(14) };
  },
  solve([pattern, paths]: readonly [string, readonly string[]], { one, any, digit, maybe, most }, on) {
    const safe = on("hidden") ? String.raw`(?!(?<=^|/)\.)` : "";
    const literal = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/gu, String.raw`\$&`);
    let source = "";
    for (let index = 0; index < pattern.length; index++) {
      const now = pattern.charAt(index);
      const close = pattern.indexOf("]", index);
      if (now === one) source += `${safe}[^/]`;
      else if (now === any && on("deep") && pattern.charAt(index + 1) === any) {
        source += `(?:${safe}[^])*`;
        index += 1;
      } else if (now === any) source += `(?:${safe}[^/]){0,${most}}`;
      else if (now === digit && on("digit")) source += "[0-9]";
      else if (now === "[" && on("class") && close > 0) {
        const inside = pattern.slice(index + 1, close);
        const isNot = inside.startsWith("!");
        source += `(?:${safe}[${isNot ? `^/${literal(inside.slice(1))}` : literal(inside)}])`;
        index = close;
      } else if (now === maybe && on("optional")) source += "?";
      else source += literal(now);
    }
    const regex = new RegExp(`^(?:${source})${on("suffix") ? "(?:$|/)" : "$"}`, on("fold") ? "iu" : "u");
    return paths.filter((path) => regex.test(path));
  },
  python: `
def matches(pattern, paths):
    pattern = pattern.lower() #?fold
    parts, i = [], 0  # each part: which characters, least and largest number of them
    while i < len(pattern):
        c = pattern[i]
        i += 1
        if c == "{{one}}":
            parts.append([None, 1, 1])
        elif pattern[i - 1:i + 1] == "{{any}}{{any}}": #?deep
            i += 1 #?deep
            parts.append(["all", 0, 10 ** 6]) #?deep
        elif c == "{{any}}":
            parts.append([None, 0, {{most}}])
        elif c == "{{digit}}": #?digit
            parts.append(["0123456789", 1, 1]) #?digit
        elif c == "[" and "]" in pattern[i:]: #?class
            end = pattern.index("]", i) #?class
            parts.append(["[" + pattern[i:end], 1, 1]) #?class
            i = end + 1 #?class
        elif c == "{{maybe}}": #?optional
            parts[-1][1] = 0 #?optional
        else:
            parts.append([c, 1, 1])

    def takes(kind, path, place):
        c = path[place]
        if c == "." and (place == 0 or path[place - 1] == "/"): #?hidden
            return kind == "." #?hidden
        if kind is None:
            return c != "/"
        if kind == "all":
            return True
        if kind[0] == "[" and len(kind) > 1:
            return c != "/" and c not in kind[2:] if kind[1] == "!" else c in kind[1:]
        return c in kind

    def match(path):
        path = path.lower() #?fold
        places = {0}
        for kind, least, most in parts:
            after = set()
            for place in places:
                count = 0
                while True:
                    if count >= least:
                        after.add(place)
                    if count == most or place == len(path) or not takes(kind, path, place):
                        break
                    place, count = place + 1, count + 1
            places = after
        if any(path[place:place + 1] == "/" for place in places): #?suffix
            return True #?suffix
        return len(path) in places

    return [path for path in paths if match(path)]
`,
});
