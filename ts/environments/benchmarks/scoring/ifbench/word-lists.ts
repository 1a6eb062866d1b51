/** Closed classes of English words as IFBench's grader counts them. */

const PERSONAL =
  "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself they them their theirs themselves";
export const PRONOUNS: ReadonlySet<string> = new Set(PERSONAL.split(" "));

/** NLTK's list, which knows neither "mine" nor "us". Parts of "don't" and the like stand here, because an apostrophe splits a word. */
const FUNCTION_WORDS = [
  "this that these those who whom what which each both all any few more most other some such own same",
  "a an the and but or nor if because as until while than so when where why how",
  "of at by for with about against between into through during before after above below to from up down in out on off over under",
  "am is are was were be been being have has had having do does did doing can will just should now",
  "again further then once here there no not only too very",
  "s t d ll m o re ve y ma ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren won wouldn",
];
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [...PRONOUNS, ...FUNCTION_WORDS.flatMap((words) => words.split(" "))].filter(
    (word) => word !== "mine" && word !== "us",
  ),
);
