/** A prompt and the messages that it is made of. */

export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
}

/** Text that is encoded exactly as it is, or messages for the model's chat template. */
export type Prompt = string | readonly Message[];

/** A raw text prompt counts as one user message. */
export function promptMessages(prompt: Prompt): Message[] {
  return typeof prompt === "string" ? [{ role: "user", content: prompt }] : [...prompt];
}
