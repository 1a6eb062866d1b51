/** version-choice: the version that a range expression of a described notation chooses from a list. */
import { between } from "../../../../random/draws.ts";
import { word } from "../../../builtin/words.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const versionChoice = variantRow({
  id: "version-choice",
  asks: "the version that a range with carets, tildes, wildcards, suffixes and alternatives chooses",
  name: "choose",
  parameters: ["expression", "versions"],
  extras: ["oldest", "suffix", "either", "without", "caret-zero", "even", "release-first"],
  constants: (rng) => ({
    none: word(rng),
    caret: rng.pick("^*@"),
    tilde: rng.pick("~%"),
    divisor: between(rng, 2, 3),
  }),
  stories: [
    "A package manager chooses the version of a library.",
    "Plugins say which versions of the editor they can work with.",
    "A fleet of devices gets the firmware that its rule allows.",
    "The build server picks a tool chain by an expression.",
  ],
  rules: `
A version is a.b.c with whole numbers, compared number by number from the left.
A version may have a suffix -n with a whole number n, such as 1.2.3-4; it comes directly before the same version without suffix, and suffixes are compared as numbers. #?suffix
An expression has conditions with blanks between them; all of them must hold.
{{caret}}a.b.c holds from a.b.c on for all versions with the same a. #!caret-zero
{{caret}}a.b.c holds from a.b.c on for all versions with the same a; but if a is 0, only for those with the same b, too. #?caret-zero
{{tilde}}a.b.c holds from a.b.c on for all versions with the same a and b.
<a.b.c holds for all versions before a.b.c, and >a.b.c for all after it. A condition a.b.c without a sign holds for that version only.
An expression may consist of several such lists of conditions with " | " between them; a version is allowed if one of the lists allows it. #?either
!a.b.c holds for all versions whose three numbers are not exactly these. #?without
Versions whose middle number is divisible by {{divisor}} are never allowed. #?even
The newest allowed version is chosen. #!oldest
The oldest allowed version is chosen. #?oldest
But if versions without suffix are allowed, one of them is chosen in this way, and those with suffix do not count. #?release-first
`,
  types: `
The first argument is the expression, the second the list of the versions as texts; versions in expressions have no suffix. The result is the chosen version, or "{{none}}".
`,
  calls({ caret, tilde }, rng, on) {
    const version = (): string => `${rng.integer(2)}.${rng.integer(4)}.${rng.integer(4)}`;
    const condition = (): string =>
      rng.pick([caret, caret, tilde, ">", "<", ...(on("without") ? ["!", "!"] : [])]) + version();
    const list = (): string =>
      rng.integer(3) === 0 ? `${caret}${version()} <${between(rng, 1, 2)}.${rng.integer(4)}.2` : condition();
    const expression = (): string => (on("either") && rng.integer(2) === 0 ? `${list()} | ${list()}` : list());
    const some = (count: number): Json[][] =>
      range(8).map(() => [
        expression(),
        [
          ...new Set(
            range(count).map(() => version() + (on("suffix") && rng.integer(3) === 0 ? `-${between(rng, 1, 12)}` : "")),
          ),
        ],
      ]);
    return { few: some(9), more: some(16), many: some(25), most: some(40) };
  },
  solve([expression, versions]: readonly [string, readonly string[]], { none, caret, tilde, divisor }, on) {
    const key = (version: string): number[] => {
      const [numbers = "", suffix] = version.split("-");
      return [...numbers.split(".").map(Number), suffix === undefined || !on("suffix") ? 1e6 : Number(suffix)];
    };
    const compare = (a: readonly number[], b: readonly number[]): number => {
      const place = a.findIndex((number, index) => number !== b[index]);
      return place < 0 ? 0 : (a[place] ?? 0) - (b[place] ?? 0);
    };
    const holds = (condition: string, version: readonly number[]): boolean => {
      const sign = /^\d/u.test(condition) ? "" : condition.charAt(0);
      const bound = key(condition.slice(sign.length));
      const order = compare(version, bound);
      const same = (count: number): boolean => range(count).every((index) => version[index] === bound[index]);
      if (sign === caret) return order >= 0 && same(on("caret-zero") && bound[0] === 0 ? 2 : 1);
      if (sign === tilde) return order >= 0 && same(2);
      if (sign === "<") return order < 0;
      if (sign === ">") return order > 0;
      return sign === "!" ? !same(3) : order === 0;
    };
    const lists = expression.split(" | ").map((list) => list.split(" "));
    const allowed = versions.filter((version) => {
      const numbers = key(version);
      if (on("even") && (numbers[1] ?? 0) % divisor === 0) return false;
      return lists.some((list) => list.every((condition) => holds(condition, numbers)));
    });
    const plain = allowed.filter((version) => !version.includes("-"));
    const pool = on("release-first") && plain.length > 0 ? plain : allowed;
    const sorted = pool.toSorted((a, b) => compare(key(a), key(b)));
    return sorted.at(on("oldest") ? 0 : -1) ?? none;
  },
  python: `
def key(version):
    numbers, _, suffix = version.partition("-")
    return [int(n) for n in numbers.split(".")] #!suffix
    return [int(n) for n in numbers.split(".")] + [int(suffix or 10 ** 6)] #?suffix

def holds(condition, version):
    sign = "" if condition[0].isdigit() else condition[0]
    bound = key(condition[len(sign):])
    if sign == "{{caret}}":
        same = 1
        if bound[0] == 0: #?caret-zero
            same = 2 #?caret-zero
        return version >= bound and version[:same] == bound[:same]
    if sign == "{{tilde}}":
        return version >= bound and version[:2] == bound[:2]
    if sign == "!": #?without
        return version[:3] != bound[:3] #?without
    return {"<": version < bound, ">": version > bound, "": version == bound}[sign]

def choose(expression, versions):
    lists = [part.split() for part in expression.split("|")]
    allowed = []
    for version in sorted(versions, key=key):
        numbers = key(version)
        if numbers[1] % {{divisor}} == 0: #?even
            continue #?even
        if any(all(holds(c, numbers) for c in part) for part in lists):
            allowed.append(version)
    allowed = [v for v in allowed if "-" not in v] or allowed #?release-first
    if not allowed:
        return "{{none}}"
    return allowed[-1] #!oldest
    return allowed[0] #?oldest
`,
});
