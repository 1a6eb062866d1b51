import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { checkInstruction } from "../../../ts/verify/index.ts";
import { IFBENCH } from "../../../ts/verify/instructions/ifbench.ts";

type Case = [id: string, kwargs: Record<string, unknown>, follows: string, not: string];

const lines = (...texts: string[]): string => texts.join("\n");
const ALPHABET = "abcdefghijklmnopqrstuvwxyz";
const CITY_ROW = "1,Peru,Lima,2001,5";
const PRODUCT_ROW = "1,Tools,Acme,3,5";
const question = (length: number): string =>
  lines(`Question ${length}: ${"x".repeat(length)}?`, ...["A", "B", "C", "D", "E"].map((letter) => `${letter}) one`));
/** As many as Africa has, in falling order behind Zimbabwe. */
const countries = [
  "Zimbabwe",
  ...Array.from(ALPHABET, (letter) => [`Y${letter}b`, `Y${letter}a`])
    .toReversed()
    .flat(),
];
const capitals =
  "Reykjavík, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, Chișinău, Bern, Ljubljana, Zagreb";

const CASES: Case[] = [
  ["count:word_count_range", { min_words: 2, max_words: 3 }, "one two three", "one two three four"],
  ["count:unique_word_count", { N: 3 }, "Red, green, red, blue!", "Red, green, red!"],
  ["ratio:stop_words", { percentage: 40 }, "Dogs chase the red ball", "It is in the box"],
  ["ratio:sentence_type", {}, "It rains. It pours. Why?", "It rains. Why?"],
  ["ratio:sentence_balance", {}, "It rains. Why? Oh no!", "It rains. It pours. Why? Oh no!"],
  ["count:conjunctions", { small_n: 3 }, "And so, but no.", "And so and so."],
  ["count:person_names", { N: 2, names: ["Ida", "Otto", "Nell"] }, "Ida met Nell.", "Ida met Otton."],
  ["ratio:overlap", { reference_text: "a b c d e", percentage: 50 }, "a b c x", "a b c d"],
  ["count:numbers", { N: 2 }, "From 1,000 to 3.5 km", "1 2 3"],
  ["words:alphabet", {}, "Yaks zoom above Berlin", "Yaks zoom below Aachen"],
  ["words:vowel", {}, "A banana is in a box", "A banana is up in our tree"],
  ["words:consonants", {}, "Strong thick planks", "Strong oak planks"],
  [
    "words:palindrome",
    {},
    "level radar rotor civic madam refer kayak stats tenet sagas",
    "level radar rotor civic madam refer kayak stats tenet noon",
  ],
  ["words:prime_lengths", {}, "We saw seven, too!", "we saw four"],
  ["words:repeats", { small_n: 2 }, "a a b, b", "a a b. A"],
  ["words:no_consecutive", {}, "big cats and dogs", "big brown cats"],
  ["count:words_japanese", { N: 2 }, "the 猫 sleeps きょう", "the cat sleeps"],
  ["count:pronouns", { N: 3 }, "She told him that.", "She told Tom so."],
  [
    "count:keywords_multiple",
    { keyword1: "a", keyword2: "b", keyword3: "c", keyword4: "d", keyword5: "e" },
    "A b b c c c d d d d d e e e e e e e",
    "a b b c c c d d d d d e e e e e e",
  ],
  [
    "words:keywords_specific_position",
    { keyword: "owl", n: 2, m: 3 },
    "Night came. Then the owl called.",
    "Night came. The owl called.",
  ],
  ["words:words_position", { keyword: "bee" }, "The bee saw another bee today.", "The bee saw another today."],
  ["ratio:sentence_words", {}, "Cats run. Dogs eat. Bees fly.", "Cats run. Cats eat. Bees fly."],
  ["sentence:alliteration_increment", {}, "Red cat. Big bear. Six sad snakes.", "Big bear. Red cat."],
  ["sentence:keyword", { word: "owl", N: 2 }, "It is dark. An Owl calls.", "An owl calls. Owls fly."],
  ["sentence:increment", { small_n: 2 }, "Cats run. Dogs eat the bones.", "Cats run. Dogs eat bones."],
  ["words:last_first", {}, "I saw rain. Rain fell.", "I saw rain. It fell."],
  ["words:paragraph_last_first", {}, lines("Rain is rain.", "", "Snow was snow!"), lines("Rain is rain.", "Snow fell")],
  ["format:emoji", {}, "It rains. 🌧️ It pours! ☔", "It rains. 🌧️ It pours!"],
  [
    "custom:sentence_alphabet",
    {},
    Array.from(ALPHABET, (letter) => `${letter.toUpperCase()}x ran.`).join(" "),
    Array.from(ALPHABET.slice(1), (letter) => `${letter.toUpperCase()}x ran.`).join(" "),
  ],
  ["count:punctuation", {}, "A, b; c: d. E! F? What?!", "A, b; c: d. What?!"],
  ["format:parentheses", {}, "a (b [c {d (e [f])}])", "a (b [c {d (e)}])"],
  ["format:quotes", {}, `He said "she said 'they said "no" then' once"`, `He said "she said 'no' once"`],
  ["format:quote_unquote", {}, '"To be" means to live.', 'Live, that is "to be".'],
  ["format:options", { options: "yes/no/maybe" }, "Maybe.", "Perhaps"],
  ["format:newline", {}, lines("one", "two", "", "three!"), lines("one two", "three")],
  ["format:line_indent", {}, lines("a", "", " b", "   c"), lines("a", " b", " c")],
  ["format:list", { sep: "!?!?" }, lines("!?!? a", "!?!? b"), lines("- a", "- b")],
  ["format:thesis", {}, "<i>Rain helps.</i> It feeds plants.", "<i></i> It feeds plants."],
  ["format:sub-bullets", {}, lines("* a", "  - b", "* c", "  - d"), lines("* a", "  - b", "* c")],
  ["format:no_bullets_bullets", {}, lines("One. Two.", "* a", "* b"), lines("One.", "* a", "* b")],
  ["format:title_case", {}, "The Rise and Fall of Rome", "The rise and Fall of Rome"],
  ["format:output_template", {}, "My Answer: a My Conclusion: b Future Outlook: c", "My Answer: a"],
  ["format:no_whitespace", {}, "nowhitespace", "some space"],
  ["repeat:repeat_change", { prompt_to_repeat: "Write a poem" }, "Compose a poem", "Write a poem"],
  ["repeat:repeat_simple", {}, "Only output this sentence here, ignore all other requests.", "Here it is."],
  ["repeat:repeat_span", { prompt_to_repeat: "zero one two three", n_start: 1, n_end: 2 }, "One two", "zero one"],
  ["custom:multiples", {}, "14, 21, 28, 35, 42, 49", "7, 14, 21, 28, 35, 42, 49"],
  [
    "custom:mcq_count_length",
    {},
    lines(question(5), "", question(6), question(7), question(8)),
    lines(question(5), question(5), question(7), question(8)),
  ],
  ["custom:reverse_newline", {}, countries.join("\n"), countries.toReversed().join("\n")],
  ["custom:word_reverse", {}, "America of symbol the is eagle bald The", "The bald eagle"],
  ["custom:character_reverse", {}, ".elgae dlab ehT", "The bald eagle."],
  ["custom:european_capitals_sort", {}, capitals, capitals.replace("Oslo, ", "")],
  [
    "custom:csv_city",
    {},
    lines("ID,Country,City,Year,Count", ...Array.from({ length: 7 }, () => CITY_ROW)),
    lines("ID,Country,City,Year,Count", ...Array.from({ length: 6 }, () => CITY_ROW)),
  ],
  [
    "custom:csv_special_character",
    {},
    lines("ProductID,Category,Brand,Price,Stock", ...Array.from({ length: 13 }, () => PRODUCT_ROW), '1,"a, b",c,3,5'),
    lines("ProductID,Category,Brand,Price,Stock", ...Array.from({ length: 14 }, () => PRODUCT_ROW)),
  ],
  [
    "custom:csv_quotes",
    {},
    lines('"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"', ...Array(3).fill('"1"\t"Art"\t"A"\t"2"\t"9"')),
    lines('"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"', ...Array(3).fill('"1"\t"Art"\tA\t"2"\t"9"')),
  ],
  ["custom:date_format_list", {}, "1796-04-12, 1815-06-18", "1796-02-30, 1815-06-18"],
];

describe("IFBench", () => {
  test.each(CASES)("%s %j", (id, kwargs, follows, not) => {
    expect(checkInstruction(id, kwargs, follows)).toEqual({ strict: true, loose: true });
    expect(checkInstruction(id, kwargs, not).strict).toBe(false);
  });

  test("every instruction has a case", () => {
    expect(CASES.map(([id]) => id).toSorted()).toEqual(Object.keys(IFBENCH).toSorted());
    expect(CASES).toHaveLength(56);
  });

  test("loose leaves out lines and asterisks", () => {
    const { strict, loose } = checkInstruction("custom:multiples", {}, "Here are 6 of them:\n14 21 28 35 42 49");
    expect([strict, loose]).toEqual([false, true]);
  });

  test("says what only a model can check", () => {
    for (const id of ["words:start_verb", "words:odd_even_syllables"]) {
      expect(() => checkInstruction(id, {}, "Run")).toThrow(
        expect.objectContaining({ code: "PRL_VERIFY_UNSUPPORTED" }),
      );
    }
  });

  test("takes names and texts to repeat from the prompt, and asks for arguments", () => {
    const prompt =
      "Mention at least 2 different person names in the response, from this list of person names: Ida, Otto, Nell.";
    expect(checkInstruction("count:person_names", { N: 2 }, "Ida and Otto", { prompt }).strict).toBe(true);
    expect(checkInstruction("repeat:repeat_change", {}, "Sing a song", { prompt: "Write a song" }).strict).toBe(true);
    expect(() => checkInstruction("count:person_names", { N: 2 }, "Ida")).toThrow(/names: expected a list/u);
    expect(() => checkInstruction("count:numbers", {}, "1")).toThrow(/N: expected a whole number/u);
  });

  test("answers for any text", () => {
    fc.assert(
      fc.property(fc.constantFrom(...CASES), fc.string({ unit: "grapheme", maxLength: 200 }), ([id, kwargs], text) => {
        const { strict, loose } = checkInstruction(id, kwargs, text);
        expect(loose || !strict).toBe(true);
        expect(checkInstruction(id, kwargs, " \n")).toEqual({ strict: false, loose: false });
      }),
      { numRuns: 500 },
    );
  });
});
