/** Closed classes of English words, written down by kind. */

const PRONOUNS = [
  "i me my mine myself we us our ours ourselves you your yours yourself yourselves",
  "he him his himself she her hers herself it its itself they them their theirs themselves",
  "this that these those who whom whose which what whoever whomever whichever whatever",
  "anybody anyone anything everybody everyone everything nobody nothing somebody someone something",
  "each either neither both all some any none",
];

const ARTICLES = "a an the";
export const COORDINATORS: readonly string[] = ["for", "and", "nor", "but", "or", "yet", "so"];
const SUBORDINATORS = "because although though while if unless until than as when where whether since";
const PREPOSITIONS =
  "of in on at by to from with without about into onto over under between through during before after above below up down out off against among";
const AUXILIARIES =
  "am is are was were be been being do does did doing have has had having can could will would shall should may might must";
const ADVERBS =
  "not no only very too just then there here now again once more most such same own other few how why also further";

const list = (...texts: readonly string[]): Set<string> => new Set(texts.flatMap((text) => text.split(" ")));

export const PRONOUN_WORDS: ReadonlySet<string> = list(...PRONOUNS);

/** Words that carry no content. */
export const STOP_WORDS: ReadonlySet<string> = list(
  ...PRONOUNS,
  ARTICLES,
  ...COORDINATORS,
  SUBORDINATORS,
  PREPOSITIONS,
  AUXILIARIES,
  ADVERBS,
);

/** Words that titles leave in small letters. */
export const MINOR_WORDS: ReadonlySet<string> = list(ARTICLES, ...COORDINATORS, "as if than", PREPOSITIONS);
