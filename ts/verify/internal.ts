/** What the model of environments needs of the verifiers: the reply behind the thinking, and a judge's verdict. All of it is in `index.ts` too. */
export { judgeChoice } from "./judge-choice.ts";
export { stripThinking } from "./strip-thinking.ts";
