/** What instructions of priority-stack are about: settings of a printed list, each with the values that it can have and their sentences. */
import { at, range } from "../../lists.ts";

export interface Entry {
  readonly name: string;
  readonly count: number;
  readonly group: string;
}

export const SETTINGS = ["order", "letters", "divider", "count", "frame", "mark", "length", "group", "ending"] as const;
export type Setting = (typeof SETTINGS)[number];
/** A value of each setting, as a place in `VALUES`. */
export type Choice = Readonly<Record<Setting, number>>;

interface Value {
  readonly name: string;
  /** Sentences that demand it. */
  readonly texts: readonly [string, string];
}

export const GROUPS = ["red", "blue"] as const;

export const VALUES: Readonly<Record<Setting, readonly Value[]>> = {
  order: [
    { name: "as given", texts: ["Keep the entries in the order of the table.", "The order of the table is to stay."] },
    { name: "by name", texts: ["Sort the entries by name from A to Z.", "Names go from A to Z."] },
    { name: "by name, reversed", texts: ["Sort the entries by name from Z to A.", "Names go from Z to A."] },
    {
      name: "largest count first",
      texts: ["Begin with the largest count and end with the smallest.", "Sort by count, downwards."],
    },
    {
      name: "smallest count first",
      texts: ["Begin with the smallest count and end with the largest.", "Sort by count, upwards."],
    },
  ],
  letters: [
    { name: "as given", texts: ["Write names as the table does.", "Leave the letters of names as they are."] },
    { name: "capitals", texts: ["Write names in capital letters only.", "Every letter of a name is a capital."] },
    { name: "small", texts: ["Write names in small letters only.", "No letter of a name is a capital."] },
  ],
  divider: [
    { name: "semicolon", texts: ["Put a semicolon and a space between entries.", "Entries are divided by `; `."] },
    { name: "bar", texts: ["Put a bar with a space on each side between entries.", "Entries are divided by ` | `."] },
    {
      name: "slash",
      texts: ["Put a slash with a space on each side between entries.", "Entries are divided by ` / `."],
    },
  ],
  count: [
    { name: "none", texts: ["Do not show counts.", "Counts stay out of the list."] },
    {
      name: "equals",
      texts: ["Write name=count for each entry.", "The count follows the name after an equals sign, without spaces."],
    },
    {
      name: "times",
      texts: [
        "Write count and x before the name, such as 7x Name.",
        "Each name comes after its count, an x and a space.",
      ],
    },
  ],
  frame: [
    { name: "none", texts: ["Put no brackets around entries.", "Entries stand without brackets."] },
    { name: "square", texts: ["Put each entry into square brackets.", "Every entry stands in [ ]."] },
    { name: "curly", texts: ["Put each entry into curly brackets.", "Every entry stands in { }."] },
  ],
  mark: [
    { name: "none", texts: ["Do not number the entries.", "No numbers before entries."] },
    {
      name: "number",
      texts: [
        "Number the entries as 1. 2. 3. before their brackets, if any.",
        "Each entry begins with its place, a dot and a space.",
      ],
    },
    {
      name: "letter",
      texts: [
        "Mark the entries with a) b) c) before their brackets, if any.",
        "Each entry begins with a small letter in sequence, a closing parenthesis and a space.",
      ],
    },
  ],
  length: [
    { name: "all", texts: ["Show all entries.", "Do not cut the list off."] },
    { name: "two", texts: ["Show the first two entries only, after sorting.", "Stop after two entries."] },
    { name: "three", texts: ["Show the first three entries only, after sorting.", "Stop after three entries."] },
  ],
  group: [
    { name: "all", texts: ["Entries of both groups belong into the list.", "Do not leave a group out."] },
    { name: "red", texts: ["Leave out the entries of the group blue.", "Only the group red is shown."] },
    { name: "blue", texts: ["Leave out the entries of the group red.", "Only the group blue is shown."] },
  ],
  ending: [
    { name: "none", texts: ["Write nothing after the last entry.", "The list ends with its last entry."] },
    { name: "end", texts: ["Close with a space and the word END.", "After the last entry comes a space and END."] },
    {
      name: "number",
      texts: [
        "Close with a space and the number of entries shown, in parentheses.",
        "After the last entry comes a space and how many there are, in parentheses.",
      ],
    },
  ],
};

const DIVIDERS = ["; ", " | ", " / "] as const;
const LENGTHS = [Number.POSITIVE_INFINITY, 2, 3] as const;

/** The list under these settings. */
export function rendered(entries: readonly Entry[], choice: Choice): string {
  const shown = chosenEntries(entries, choice);
  const texts = shown.map(({ name, count }, index) => {
    const cased = [name, name.toUpperCase(), name.toLowerCase()][choice.letters] ?? name;
    const counted = [cased, `${cased}=${count}`, `${count}x ${cased}`][choice.count] ?? cased;
    const framed = [counted, `[${counted}]`, `{${counted}}`][choice.frame] ?? counted;
    return `${["", `${index + 1}. `, `${String.fromCodePoint(97 + index)}) `][choice.mark] ?? ""}${framed}`;
  });
  return `${texts.join(at(DIVIDERS, choice.divider))}${["", " END", ` (${shown.length})`][choice.ending] ?? ""}`;
}

function chosenEntries(entries: readonly Entry[], { order, length, group }: Selection): Entry[] {
  const kept = entries.filter((one) => group === 0 || one.group === at(GROUPS, group - 1));
  const byName = (a: Entry, b: Entry): number => (a.name < b.name ? -1 : 1);
  const byCount = (a: Entry, b: Entry): number => a.count - b.count;
  const sorted = [
    kept,
    kept.toSorted(byName),
    kept.toSorted(byName).toReversed(),
    kept.toSorted(byCount).toReversed(),
    kept.toSorted(byCount),
  ];
  return at(sorted, order).slice(0, at(LENGTHS, length));
}

/** All settings under which the list looks like this. */
export function settingsOf(entries: readonly Entry[], text: string): Choice[] {
  const selections = selectionsOf(entries);
  const found: Choice[] = [];
  for (const ending of places("ending")) {
    const body = withoutEnding(text, ending);
    if (body === null) continue;
    for (const divider of places("divider")) {
      const [head = ""] = body.split(at(DIVIDERS, divider));
      const { name, styles } = stylesOf(head);
      for (const { first, selection } of selections) {
        if (first !== name) continue;
        for (const style of styles) {
          const choice: Choice = { ...style, ending, divider, ...selection };
          if (rendered(entries, choice) === text) found.push(choice);
        }
      }
    }
  }
  return found;
}

type Selection = Pick<Choice, "order" | "length" | "group">;

/** Each way to choose entries, with the name that comes first, in small letters. */
function selectionsOf(entries: readonly Entry[]): { first: string; selection: Selection }[] {
  return places("order").flatMap((order) =>
    places("group").flatMap((group) => {
      const [first] = chosenEntries(entries, { order, group, length: 0 });
      return first === undefined
        ? []
        : places("length").map((length) => ({ first: first.name.toLowerCase(), selection: { order, length, group } }));
    }),
  );
}

function places(setting: Setting): number[] {
  return range(VALUES[setting].length);
}

function withoutEnding(text: string, ending: number): string | null {
  if (ending === 0) return text;
  const tail = ending === 1 ? / END$/u : / \(\d{1,3}\)$/u;
  return tail.test(text) ? text.replace(tail, "") : null;
}

type Style = Pick<Choice, "mark" | "frame" | "count" | "letters">;

/** How the first entry may have been written, and its name in small letters. */
function stylesOf(head: string): { name: string; styles: Style[] } {
  const { text: unmarked, mark } = peeled(head, [/^1\. (.*)$/u, /^a\) (.*)$/u]);
  const { text: bare, mark: frame } = peeled(unmarked, [/^\[(.*)\]$/u, /^\{(.*)\}$/u]);
  const { text: name, mark: count } = peeled(bare, [/^(.*)=\d{1,4}$/u, /^\d{1,4}x (.*)$/u]);
  return { name: name.toLowerCase(), styles: places("letters").map((letters) => ({ mark, frame, count, letters })) };
}

/** The text inside the first form that fits, and the place of that form, from 1. */
function peeled(text: string, forms: readonly RegExp[]): { text: string; mark: number } {
  for (const [index, form] of forms.entries()) {
    const inside = form.exec(text)?.[1];
    if (inside !== undefined) return { text: inside, mark: index + 1 };
  }
  return { text, mark: 0 };
}
