/**
 * Answers the questions of two of IFBench's checks about a language: whether a word is a verb, and its number of syllables. The grader asks NLTK's tagger and a
 * dictionary of 12,000 words; here rules and a list of the verbs that replies begin with decide, so that single verdicts can differ.
 */

/** Base forms that imperatives and short replies begin with. */
const VERBS: ReadonlySet<string> = new Set(
  [
    "accept achieve act add adjust admit adopt advise allow analyze answer apply arrange ask assess assign assume attach avoid be become begin believe",
    "break bring build buy calculate call capture carry change check choose clean clear click close collect combine come compare complete compute",
    "connect consider contact contain continue convert copy count create cut decide define deliver describe design determine develop discover discuss",
    "divide do download draw drive eat embrace employ enable encourage engage enjoy ensure enter establish evaluate examine expand expect explain explore express",
    "fill find finish focus follow forget gather generate get give go grab grow handle have hear help hold identify imagine implement include increase",
    "insert inspect install introduce invest investigate invite join jump keep know learn leave let list listen live locate look love maintain make",
    "manage maximize measure meet mention minimize mix modify move multiply navigate observe obtain offer open optimize organize pack pay perform pick place plan",
    "play prepare present press prevent prioritize proceed produce promote protect prove provide pull push put raise reach read receive recognize",
    "recommend record reduce refer reflect remain remember remove repeat replace request require research respond return review revise run save say search see",
    "seek select send separate serve set share show simplify sit solve sort speak specify spend stand start state stay stop store strengthen structure study",
    "submit suggest summarize support suppose take talk tell test think transform translate travel treat try turn type understand update use utilize",
    "verify view visit visualize wait walk want watch wear welcome win work write",
    "is are was were am been has had does did came went said made took gave found knew saw thought became left kept began brought wrote stood lost paid met ran sent built fell held led",
  ].flatMap((words) => words.split(" ")),
);
/** Nouns and others that end like a participle. */
const NO_VERBS =
  /^(?:during|morning|evening|nothing|something|anything|everything|thing|king|ring|spring|string|red|bed|need|seed|indeed|speed|hundred)$/u;

export function beginsWithVerb(token: string): boolean {
  const word = token.toLowerCase();
  if (NO_VERBS.test(word)) return false;
  return VERBS.has(word) || /^\p{L}{2,}(?:ing|ed)$/u.test(word);
}

/** Whether a word has an odd number of syllables: groups of vowels, without a silent last e. A number has none. */
export function isOdd(word: string): boolean {
  if (/\p{Nd}/u.test(word)) return false;
  const groups = word.match(/[aeiouy]+/gu)?.length ?? 0;
  const isSilent = /[^aeiouy]e$/u.test(word) && !/[^aeiouy]le$/u.test(word);
  // "walked" and "moves" have the syllables of "walk" and "move".
  const isSilentEnding = /[^aeiouytd]ed$/u.test(word) || /[^aeiouyscxzgh]es$/u.test(word);
  const count = groups - (isSilent || isSilentEnding ? 1 : 0);
  return Math.max(1, count) % 2 === 1;
}
