/** Rules for the values of options; `parseOptions` checks them for all commands. */
import { isHost } from "../../config/index.ts";

export type OptionRule =
  | { readonly is: "integer" | "number"; readonly least: number; readonly most: number }
  | { readonly is: "host" | "host:port" | "url" | "text" }
  | { readonly is: "one of"; readonly values: readonly string[] };

/** Timers count milliseconds in 31 bits. */
const MOST_SECONDS = 2_000_000;
const LAST_PORT = 65_535;
const HOST_PORT = /^(.+):(\d{1,5})$/u;
const INTEGER = /^\d{1,16}$/u;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/u;

/** Rules for numbers. */
export const RULES = {
  count: { is: "integer", least: 1, most: Number.MAX_SAFE_INTEGER },
  index: { is: "integer", least: 0, most: LAST_PORT },
  whole: { is: "integer", least: 0, most: Number.MAX_SAFE_INTEGER },
  threads: { is: "integer", least: 1, most: 1024 },
  port: { is: "integer", least: 0, most: LAST_PORT },
  seconds: { is: "integer", least: 1, most: MOST_SECONDS },
  temperature: { is: "number", least: 0, most: 2 },
  finite: { is: "number", least: -Number.MAX_VALUE, most: Number.MAX_VALUE },
} as const satisfies Readonly<Record<string, OptionRule>>;

/** The expected kind of value when the value breaks the rule; null when it keeps it. */
export function expectedBy(rule: OptionRule, text: string): string | null {
  switch (rule.is) {
    case "integer":
      return INTEGER.test(text) && isWithin(Number(text), rule) ? null : `an integer ${rangeText(rule)}`;
    case "number":
      return NUMBER.test(text) && isWithin(Number(text), rule) ? null : `a number${rangeText(rule, " ")}`;
    case "host":
      return isHost(text) ? null : "an IP address or a host name";
    case "host:port":
      return isHostAndPort(text) ? null : "host:port";
    case "url":
      return isUrl(text) ? null : "an address such as http://127.0.0.1:8000/v1";
    case "text":
      return text === "" ? "a text" : null;
    case "one of":
      return rule.values.includes(text) ? null : `one of ${rule.values.join(", ")}`;
  }
}

type Range = { readonly least: number; readonly most: number };

function isWithin(value: number, { least, most }: Range): boolean {
  return value >= least && value <= most;
}

function rangeText({ least, most }: Range, before = ""): string {
  if (least === -Number.MAX_VALUE) return "";
  return before + (most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`);
}

function isHostAndPort(text: string): boolean {
  const [, host = "", port = ""] = HOST_PORT.exec(text) ?? [];
  return isHost(host.replace(/^\[(.*)\]$/u, "$1")) && Number(port) <= LAST_PORT;
}

function isUrl(text: string): boolean {
  try {
    return ["http:", "https:"].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}
