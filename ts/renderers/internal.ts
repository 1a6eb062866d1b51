/** Exports of `ts/renderers` for other parts of prl. They are not public. */
export { ReplyGrowth } from "./replies/reply-growth.ts";
export { stoppedBy, stopPlace, textBefore } from "./replies/stop-strings.ts";
export {
  encodeBeginning,
  onlyFunction,
  opensThinking,
  parseReply,
  type ReplyBeginning,
} from "./replies/reply-beginning.ts";
export {
  REASONING_PARSERS,
  type ReasoningParser,
  type ReplyParsers,
  TOOL_CALL_PARSERS,
  type ToolCallParser,
} from "./replies/parsers.ts";
export { joinedIds } from "./joined-ids.ts";
export { argumentsText } from "./replies/call-arguments.ts";
export { withTypes } from "./replies/xml-call.ts";
export { withReadArguments } from "./read-arguments.ts";
