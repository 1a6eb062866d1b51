/** repeated-parts: the best repeated part of a text under a described measure. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const repeatedParts = variantRow({
  id: "repeated-parts",
  asks: "the repeated part of a text with the best described value, with overlaps, mirrors and gaps",
  name: "best_part",
  parameters: ["text"],
  extras: ["apart", "mirror", "spread", "distinct", "last", "edges"],
  constants: (rng) => ({
    least: between(rng, 1, 2),
    weight: between(rng, 2, 6),
    minus: between(rng, 1, 6),
    bonus: between(rng, 2, 7),
    none: rng.pick(["-", "none", "?"]),
  }),
  stories: [
    "A composer looks for the motif of a melody that is written as letters.",
    "A packer wants to know which part of a text is worth a short name.",
    "A biologist searches repeats in a sequence.",
    "A tool finds copied pieces in a log.",
  ],
  rules: `
A part is a piece of the text, of at least {{least}} characters without gaps, which stands at two places of the text or more.
Its count is the number of all places at which it stands. #!apart
Its count is the number of places at which it stands, taken from the left so that they do not overlap; it must be at least 2. #?apart
Places at which the part stands backwards count, too (a place where it stands in both ways counts once); but each part must stand forwards at one place or more. #?mirror
Its value is {{weight}} * length * (count - 1) - {{minus}} * count.
The value is larger by the distance between the beginnings of the first and the last of the counted places. #?spread
The value is larger by {{bonus}} for each different character in the part. #?distinct
A part that begins and ends with the same character has {{bonus}} + 5 less. #?edges
The part with the largest value is wanted; of equal ones the longest, and of those the alphabetically first. #!last
The part with the largest value is wanted; of equal ones the shortest, and of those the alphabetically last. #?last
`,
  types: `
The argument is a text of the letters a to d. The result is a list of two: the part and its value; ["{{none}}", 0] if there is none.
`,
  calls(_, rng) {
    const text = (length: number, letters: string): string[] => [
      range(length)
        .map(() => rng.pick(letters))
        .join(""),
    ];
    const twice = (length: number): string[] => {
      const [part = ""] = text(length, "abcd");
      return [part + rng.pick("abcd") + part + (text(3, "ab")[0] ?? "") + Array.from(part).reverse().join("")];
    };
    return {
      short: range(6).map(() => text(between(rng, 5, 8), "abc")),
      two: range(6).map(() => text(between(rng, 10, 14), "ab")),
      built: range(6).map(() => twice(between(rng, 3, 5))),
      long: range(5).map(() => text(22, "abcd")),
    };
  },
  solve([text]: readonly [string], { least, weight, minus, bonus, none }, on) {
    let best: { part: string; value: number } | null = null;
    const parts = new Set(
      range(text.length).flatMap((from) => range(text.length - from).map((size) => text.slice(from, from + size + 1))),
    );
    for (const part of parts) {
      if (part.length < least) continue;
      const back = Array.from(part).reverse().join("");
      const places: number[] = [];
      for (let place = 0; place + part.length <= text.length; place++) {
        const isHere = text.startsWith(part, place) || (on("mirror") && text.startsWith(back, place));
        if (isHere && !(on("apart") && place < (places.at(-1) ?? -99) + part.length)) places.push(place);
      }
      if (places.length < 2) continue;
      let value = weight * part.length * (places.length - 1) - minus * places.length;
      if (on("spread")) value += (places.at(-1) ?? 0) - (places[0] ?? 0);
      if (on("distinct")) value += bonus * new Set(part).size;
      if (on("edges") && part.charAt(0) === part.charAt(part.length - 1)) value -= bonus + 5;
      const sign = on("last") ? -1 : 1;
      const isBetter =
        best === null ||
        value > best.value ||
        (value === best.value &&
          (sign * part.length > sign * best.part.length ||
            (part.length === best.part.length && part < best.part !== on("last"))));
      if (isBetter) best = { part, value };
    }
    return best === null ? [none, 0] : [best.part, best.value];
  },
  python: `
def best_part(text):
    found = []
    for size in range({{least}}, len(text) + 1):
        for part in {text[i:i + size] for i in range(len(text) - size + 1)}:
            forms = {part}
            forms.add(part[::-1]) #?mirror
            places = [i for i in range(len(text)) if text[i:i + size] in forms]
            kept = [] #?apart
            for i in places: #?apart
                if not kept or i >= kept[-1] + size: #?apart
                    kept.append(i) #?apart
            places = kept #?apart
            if len(places) < 2:
                continue
            value = {{weight}} * size * (len(places) - 1) - {{minus}} * len(places)
            value += places[-1] - places[0] #?spread
            value += {{bonus}} * len(set(part)) #?distinct
            value -= ({{bonus}} + 5) * (part[0] == part[-1]) #?edges
            found.append((value, part))
    if not found:
        return ["{{none}}", 0]
    top = max(value for value, _ in found)
    parts = sorted(part for value, part in found if value == top)
    part = max(parts, key=len) #!last
    part = min(parts[::-1], key=len) #?last
    return [part, top]
`,
});
