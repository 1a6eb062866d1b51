/** The language of a text, roughly: by its letters, and among Latin and Cyrillic ones by frequent small words. */

/** Languages by script, most specific letters first. */
const SCRIPTS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/[\u3040-\u30ff]/gu, ["ja"]],
  [/[\uac00-\ud7af]/gu, ["ko"]],
  [/[\u0e00-\u0e7f]/gu, ["th"]],
  [/[\u0980-\u09ff]/gu, ["bn"]],
  [/[\u0a00-\u0a7f]/gu, ["pa"]],
  [/[\u0a80-\u0aff]/gu, ["gu"]],
  [/[\u0b80-\u0bff]/gu, ["ta"]],
  [/[\u0c00-\u0c7f]/gu, ["te"]],
  [/[\u0c80-\u0cff]/gu, ["kn"]],
  [/[\u0d00-\u0d7f]/gu, ["ml"]],
  [/[\u0590-\u05ff]/gu, ["he"]],
  [/[\u0370-\u03ff]/gu, ["el"]],
  [/[\u0900-\u097f]/gu, ["hi", "mr", "ne"]],
  [/[\u0600-\u06ff]/gu, ["ar", "fa", "ur"]],
  [/[\u0400-\u04ff]/gu, ["ru", "uk", "bg"]],
  [/[\u4e00-\u9fff]/gu, ["zh", "zh-cn", "zh-tw"]],
];

/** Small words that are frequent in one language and rare in its neighbours. */
const SMALL_WORDS: Readonly<Record<string, string>> = {
  en: "the and of to is that it for was with as are this be have not you from they will which",
  de: "der die und das ist nicht ein eine zu den mit auf für von im sich auch wird werden sind",
  fr: "le la les et des est une un dans que pour pas qui sur avec ce il elle sont au du nous",
  es: "el la los las y de que en es un una por con para no se su del como más pero son",
  pt: "o a os as e de que em é um uma por com para não se seu do da como mais mas são dos",
  it: "il lo la gli le e di che è un una per con non si del della sono come più ma nel questo",
  nl: "de het een en van is dat niet in op te met voor zijn aan er maar ook als bij worden",
  pl: "i w na z do nie się jest to że o jak po co tak za od jego ale dla są przez",
  fi: "ja on ei se että oli hän mutta niin kun ovat myös joka tai olen voi sen kuin mitä",
  sv: "och att det är som en på inte jag för med har till av den ett om men var kan",
  vi: "và của là có không một những được trong cho các người này với để đã như từ khi",
  sw: "na ya wa kwa ni la katika za kuwa hii yake watu hiyo lakini pia kama au hao",
  ru: "и в не на что с он как это по но из у за от так же для было",
  uk: "і в не на що з він як це та до але із у за від так для було ти",
  bg: "и в не на че с той като това по но от за се да е са до при",
};

/** ISO 639-1 codes of the languages that the text may be in; empty when they cannot be determined. */
export function possibleLanguages(text: string): readonly string[] {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  if (letters === 0) return [];
  for (const [pattern, languages] of SCRIPTS) {
    const count = text.match(pattern)?.length ?? 0;
    if (count > letters * 0.3 || (languages[0] === "ja" && count > letters * 0.1)) {
      return languages.includes("ru") ? closest(text, languages) : languages;
    }
  }
  return closest(text, ["en", "de", "fr", "es", "pt", "it", "nl", "pl", "fi", "sv", "vi", "sw"]);
}

/** The languages with the most small words; empty for texts with hardly any. */
function closest(text: string, languages: readonly string[]): readonly string[] {
  const seen = text.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? [];
  const scores = languages.map((language) => {
    const small = new Set((SMALL_WORDS[language] ?? "").split(" "));
    return { language, score: seen.filter((word) => small.has(word)).length };
  });
  const best = Math.max(...scores.map(({ score }) => score));
  if (best < Math.min(2, seen.length)) return [];
  return scores.filter(({ score }) => score === best).map(({ language }) => language);
}
