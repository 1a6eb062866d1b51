/** A prompt and its messages, in the shape of the OpenAI chat API, which templates and endpoints read. */

export interface ToolCall {
  id: string;
  type: "function";
  function: {
    name: string;
    /** JSON text, as the model wrote it. */
    arguments: string;
  };
}

/** This is a type, not an interface, so that templates accept it as an object with any keys. */
export type Message = {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  /** Thinking of an assistant; absent when there was none, "" when it was empty. */
  reasoning_content?: string;
  tool_calls?: readonly ToolCall[];
  /** In a tool message: the call that it answers. */
  tool_call_id?: string;
};

/** Text that is encoded exactly as it is, or messages for the model's chat template. */
export type Prompt = string | readonly Message[];

/** A format of a whole text other than JSON: a regular expression, one of several texts, a grammar (EBNF or Lark), or a structural tag. */
export type TextFormat =
  | { readonly regex: string }
  | { readonly choice: readonly string[] }
  | { readonly grammar: string }
  | { readonly structuralTag: object };

/** A raw text prompt counts as one user message. */
export function promptMessages(prompt: Prompt): Message[] {
  return typeof prompt === "string" ? [{ role: "user", content: prompt }] : [...prompt];
}

/** Whether two messages say the same: absent reasoning differs from empty reasoning, arguments of calls compare as JSON values. */
export function sameMessage(a: Message, b: Message): boolean {
  return (
    a.role === b.role &&
    a.content === b.content &&
    a.reasoning_content === b.reasoning_content &&
    a.tool_call_id === b.tool_call_id &&
    sameCalls(a.tool_calls ?? [], b.tool_calls ?? [])
  );
}

function sameCalls(a: readonly ToolCall[], b: readonly ToolCall[]): boolean {
  return (
    a.length === b.length &&
    a.every((call, index) => {
      const other = b[index];
      return (
        other !== undefined &&
        call.id === other.id &&
        call.function.name === other.function.name &&
        canonical(call.function.arguments) === canonical(other.function.arguments)
      );
    })
  );
}

/** JSON with sorted keys; text that is not JSON stays the same. */
function canonical(text: string): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, one]) => [key, sorted(one)] as const);
    return Object.fromEntries(entries.sort(([x], [y]) => (x < y ? -1 : 1)));
  };
  try {
    return JSON.stringify(sorted(JSON.parse(text)));
  } catch {
    return text;
  }
}
