/** Who may decide what in priority-stack: the effective value of each setting follows from messages, ranks and what authors did about their words. */
import type { Choice, Setting } from "./settings.ts";

/** Authors are places in the list of ranks, 0 the highest. */
export type Message =
  | {
      readonly kind: "set";
      readonly author: number;
      readonly setting: Setting;
      readonly value: number;
      /** Holds only where the table has more entries than this, or at most as many; null: always. */
      readonly when: { readonly more: boolean; readonly than: number } | null;
    }
  /** Takes back what the author has said on the setting so far. */
  | { readonly kind: "withdraw"; readonly author: number; readonly setting: Setting }
  /** From now on another author's word counts as the author's own. */
  | { readonly kind: "delegate"; readonly author: number; readonly setting: Setting; readonly to: number }
  /** The author's later messages on the setting are void. */
  | { readonly kind: "close"; readonly author: number; readonly setting: Setting }
  /** Says what another author wants: it has no force. */
  | {
      readonly kind: "hearsay";
      readonly author: number;
      readonly setting: Setting;
      readonly of: number;
      readonly value: number;
    };

export interface Stack {
  readonly authors: readonly string[];
  /** Settings on which an author may not decide; a list for each author. */
  readonly barred: readonly (readonly Setting[])[];
  readonly messages: readonly Message[];
  /** Where no author has a valid word. */
  readonly defaults: Choice;
  /** Entries of the table. */
  readonly size: number;
}

/** Which of the rules a reader knows; the right one knows all. */
export interface Reader {
  readonly ranks: boolean;
  readonly withdrawals: boolean;
  readonly delegations: boolean;
  readonly closings: boolean;
  readonly bars: boolean;
  readonly conditions: boolean;
  readonly hearsay: boolean;
}

export const FULL: Reader = {
  ranks: true,
  withdrawals: true,
  delegations: true,
  closings: true,
  bars: true,
  conditions: true,
  hearsay: true,
};

interface Word {
  value: number | null;
  delegate: number | null;
  closed: boolean;
}

/** The value that counts, and the settings on which more than one value was demanded. */
export function resolve(stack: Stack, setting: Setting, reader: Reader = FULL): number {
  const messages = stack.messages.filter((one) => one.setting === setting);
  const words = stack.authors.map((_, author) => wordOf({ messages, size: stack.size }, author, reader));
  for (const [author, { value, delegate }] of words.entries()) {
    if (reader.bars && stack.barred[author]?.includes(setting) === true) continue;
    const counted = delegate === null ? value : (words[delegate]?.value ?? null);
    if (counted !== null) return counted;
  }
  return stack.defaults[setting];
}

/** What an author has last said validly; a reader without ranks takes all for one author. */
function wordOf({ messages, size }: Pick<Stack, "messages" | "size">, author: number, reader: Reader): Word {
  const word: Word = { value: null, delegate: null, closed: false };
  for (const one of messages) {
    const speaker = one.kind === "hearsay" && !reader.hearsay ? one.of : one.author;
    if (reader.ranks && speaker !== author) continue;
    if (word.closed && reader.closings) continue;
    if (one.kind === "close") word.closed = true;
    else if (one.kind === "withdraw" && reader.withdrawals) Object.assign(word, { value: null, delegate: null });
    else if (one.kind === "delegate" && reader.delegations) Object.assign(word, { value: null, delegate: one.to });
    else if (one.kind === "hearsay" && !reader.hearsay) Object.assign(word, { value: one.value, delegate: null });
    else if (one.kind === "set" && (!reader.conditions || one.when === null || size > one.when.than === one.when.more))
      Object.assign(word, { value: one.value, delegate: null });
  }
  return word;
}
