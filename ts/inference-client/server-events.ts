/** Server-sent events as they come over the wire (WHATWG, "Server-sent events"): pieces of bytes in, events out. */

export interface ServerEvent {
  /** "message" where the stream names none. */
  readonly event: string;
  readonly data: string;
}

/** Parses pieces that may be cut anywhere. Text behind the last blank line is not an event. */
export class EventStreamParser {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #event = "";
  #data: string[] = [];

  push(bytes: Uint8Array): ServerEvent[] {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  #line(line: string): ServerEvent[] {
    if (line === "") {
      const events = this.#data.length === 0 ? [] : [{ event: this.#event || "message", data: this.#data.join("\n") }];
      this.#event = "";
      this.#data = [];
      return events;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /u, "");
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    return [];
  }
}
