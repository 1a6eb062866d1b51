/** settings-file: the values of keys in a file of sections with inheritance, references and repeated keys. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const settingsFile = variantRow({
  id: "settings-file",
  asks: "the values of keys in a settings file with sections, parents, references, lists and deleted keys",
  name: "lookup",
  parameters: ["lines", "questions"],
  extras: ["first-wins", "parent", "append", "delete", "reference", "global", "fold"],
  constants: (rng) => ({
    sign: rng.pick("=:>"),
    mark: rng.pick("#;!"),
    joint: rng.pick("+/|"),
    absent: rng.pick(["none", "missing", "unset", "nil"]),
    limit: between(rng, 2, 4),
  }),
  stories: [
    "A server reads its settings from a file of lines.",
    "The tool for builds has a configuration format that grew over the years.",
    "A game keeps its options in sections.",
    "Settings of many machines share parts of one file.",
  ],
  rules: `
A line [name] begins the section of this name; the same section may be begun again later, and goes on there. Lines before the first section belong to the section "main".
A line with {{sign}} in it is a key (what stands before the first {{sign}}) with a value (all behind it); blanks around both are removed. Other lines, and lines that begin with {{mark}}, mean nothing.
If a key stands several times in a section, the last value counts. #!first-wins
If a key stands several times in a section, the first value counts. #?first-wins
Upper and lower case of keys and of names of sections, also in questions, are equal. #?fold
A key that ends in + is the key without it; its value is put behind the value that the key has in this section at that place, with {{joint}} between them (if it has none, the value stands alone), and replaces it whatever other rules say. #?append
The value - takes the key out of its section, as if it had not stood there so far. #?delete
A line [name < other] begins a section whose parent is the section other. A key that a section does not have is looked up in its parent, then in the parent of that, and so on; a section that was asked already ends this. The last parent given counts; a line without parent leaves it as it is. #?parent
A key that is not found this way is looked up in the section "main". #?global
A found value that begins with $ is a reference: the rest of it is a key, which is looked up in the same way, beginning with the section of the question. If more than {{limit}} references follow one another, the key counts as not found. #?reference
`,
  types: `
The first argument is the list of the lines, the second a list of questions [section, key]. The result is the list of the values, and "{{absent}}" for each key that is not found.
`,
  calls({ sign, mark }, rng, on) {
    const section = (): string => rng.pick(["main", "web", "db", ...(on("fold") ? ["Web", "DB"] : [])]);
    const key = (): string => rng.pick(["a", "b", "c", ...(on("fold") ? ["A", "B"] : [])]);
    const value = (): string => {
      const kind = rng.integer(6);
      if (kind === 0 && on("reference")) return `$${key()}`;
      if (kind === 1 && on("delete")) return "-";
      return `${rng.pick("uvwxyz")}${rng.integer(9)}${rng.integer(8) === 0 ? sign : ""}`;
    };
    const line = (): string => {
      const kind = rng.integer(12);
      if (kind < 3) return on("parent") && rng.integer(2) === 0 ? `[${section()} < ${section()}]` : `[${section()}]`;
      if (kind === 3) return rng.pick([`${mark}${key()}${sign}1`, "note", ""]);
      return `${key()}${on("append") && rng.integer(3) === 0 ? "+" : ""}${rng.pick(["", " "])}${sign} ${value()}`;
    };
    const questions = (): Json => range(5).map(() => [section(), key()]);
    const some = (length: number): Json[][] => range(6).map(() => [range(length).map(line), questions()]);
    return { short: some(8), medium: some(13), long: some(20), longest: some(30) };
  },
  solve([lines, questions]: readonly [readonly string[], readonly (readonly [string, string])[]], values, on) {
    const { sign, mark, joint, absent, limit } = values;
    const fold = (text: string): string => (on("fold") ? text.toLowerCase() : text);
    const sections = new Map<string, Map<string, string>>();
    const parents = new Map<string, string>();
    let now = "main";
    for (const line of lines) {
      if (line.startsWith(mark)) continue;
      const head = /^\[(\w+)(?: < (\w+))?\]$/u.exec(line);
      if (head !== null) {
        now = fold(head[1] ?? "");
        if (head[2] !== undefined) parents.set(now, fold(head[2]));
        continue;
      }
      const place = line.indexOf(sign);
      if (place < 0) continue;
      const given = fold(line.slice(0, place).trim());
      const value = line.slice(place + 1).trim();
      const keys = sections.get(now) ?? new Map<string, string>();
      sections.set(now, keys);
      const isMore = on("append") && given.endsWith("+");
      const key = isMore ? given.slice(0, -1) : given;
      const old = keys.get(key);
      if (on("delete") && value === "-") keys.delete(key);
      else if (isMore) keys.set(key, old === undefined ? value : old + joint + value);
      else if (!(on("first-wins") && old !== undefined)) keys.set(key, value);
    }
    const find = (section: string, key: string): string | undefined => {
      const asked = new Set<string>();
      for (
        let place: string | undefined = section;
        place !== undefined && !asked.has(place);
        place = parents.get(place)
      ) {
        asked.add(place);
        const value = sections.get(place)?.get(key);
        if (value !== undefined) return value;
      }
      return on("global") ? sections.get("main")?.get(key) : undefined;
    };
    return questions.map(([section, key]) => {
      let value = find(fold(section), fold(key));
      for (let turn = 0; on("reference") && value?.startsWith("$") === true; turn++)
        value = turn === limit ? undefined : find(fold(section), fold(value.slice(1)));
      return value ?? absent;
    });
  },
  python: `
import re

def lookup(lines, questions):
    sections, parents, now = {}, {}, "main"

    def fold(text):
        return text.lower() #?fold
        return text #!fold

    for line in lines:
        if line.startswith("{{mark}}"):
            continue
        head = re.fullmatch(r"\\[(\\w+)(?: < (\\w+))?\\]", line)
        if head:
            now = fold(head[1])
            if head[2]: #?parent
                parents[now] = fold(head[2]) #?parent
            continue
        if "{{sign}}" not in line:
            continue
        key, value = (part.strip() for part in line.split("{{sign}}", 1))
        key, keys = fold(key), sections.setdefault(now, {})
        more = key.endswith("+") #?append
        key = key.rstrip("+") #?append
        if value == "-": #?delete
            keys.pop(key, None) #?delete
            continue #?delete
        if more: #?append
            keys[key] = keys[key] + "{{joint}}" + value if key in keys else value #?append
            continue #?append
        keys.setdefault(key, value) #?first-wins
        keys[key] = value #!first-wins

    def find(section, key):
        asked, place = set(), section
        while place is not None and place not in asked:
            asked.add(place)
            if key in sections.get(place, {}):
                return sections[place][key]
            place = parents.get(place)
        return sections.get("main", {}).get(key) #?global
        return None #!global

    out = []
    for section, key in questions:
        value = find(fold(section), fold(key))
        turns = 0 #?reference
        while value is not None and value.startswith("$"): #?reference
            turns += 1 #?reference
            value = find(fold(section), fold(value[1:])) if turns <= {{limit}} else None #?reference
        out.append("{{absent}}" if value is None else value)
    return out
`,
});
