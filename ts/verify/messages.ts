/** Texts of conversations. */
import type { Message } from "../message.ts";

/** Content of the last assistant message; "" when there is none. */
export function lastAssistantText(messages: readonly Message[]): string {
  return messages.findLast(({ role }) => role === "assistant")?.content ?? "";
}

/**
 * Share of assistant messages that think before they answer: they begin with `<think>`, have exactly one opening and one closing tag, and
 * say something behind it. 0 without assistant messages.
 */
export function thinkFormatReward(messages: readonly Message[]): number {
  const texts = messages.filter(({ role }) => role === "assistant").map(({ content }) => content.trim());
  const good = texts.filter((text) => {
    const [opening, closing] = [text.split("<think>").length - 1, text.split("</think>").length - 1];
    const tail = text.slice(text.indexOf("</think>") + "</think>".length).trim();
    return text.startsWith("<think>") && opening === 1 && closing === 1 && tail !== "";
  });
  return texts.length === 0 ? 0 : good.length / texts.length;
}
