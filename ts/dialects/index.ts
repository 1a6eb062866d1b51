/** The API dialects of model endpoints: requests in, replies out. They serve the inference server and agents in rollouts. */
export { chatCompletions } from "./chat-completions.ts";
export { messages } from "./messages.ts";
export { responses } from "./responses.ts";
export { PREFIX as RESPONSE_PREFIX } from "./responses-answer.ts";
export {
  type AgentReply,
  type AgentRequest,
  continued,
  type Dialect,
  eventText,
  malformed,
  openaiError,
  type Problem,
  type ReplyFormat,
  type ReplyHead,
  type ReplyUsage,
  type StreamEvent,
  type StreamWriter,
  unsupported,
} from "./dialect.ts";
export { ReplyProgress, type SoFar, withoutBegun } from "./reply-progress.ts";
