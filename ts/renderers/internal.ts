/** What other parts of prl use of `ts/renderers` and users do not: nothing of it is public. */
export { ReplyGrowth } from "./replies/reply-growth.ts";
export { stoppedBy, textBefore } from "./replies/stop-strings.ts";
export {
  encodeBeginning,
  onlyFunction,
  opensThinking,
  parseReply,
  type ReplyBeginning,
} from "./replies/reply-beginning.ts";
