/** Units in upright letters, 7\,\mathrm{~kg}, and degrees of temperature become text, which is how units are read. */
import { parseUnit } from "../values/units.ts";

const UPRIGHT =
  /\\(?:mathrm|mathsf|rm|operatorname|textrm|mbox|hbox|textup|textnormal)\s*\{((?:[^{}]|\{[^{}]*\})*)\}/gu;
const TEMPERATURE =
  /(?<=[\d}\s])\^\s*\{?\s*\\circ\s*\}?\s*(?:\\(?:text|mathrm|textrm|rm)\s*\{\s*([CF])\s*\}|([CF])(?![a-zA-Z]))/gu;

const LONGEST_COMMAND = 20;

export function withUprightUnits(text: string): string {
  return text
    .replace(/\{\s*\\rm(?![a-zA-Z])([^{}]*)\}/gu, "\\mathrm{$1}")
    .replace(TEMPERATURE, (_, braced?: string, bare?: string) => `\\text{ deg${braced ?? bare ?? ""}}`)
    .replace(UPRIGHT, (whole, inner: string, at: number) => {
      if (!/(?:[\d})\]\s;,~/]|\\[a-zA-Z]+)$/u.test(text.slice(Math.max(0, at - LONGEST_COMMAND), at))) return whole;
      const unit = unitIn(inner);
      return unit === null ? whole : `\\text{ ${unit}}`;
    });
}

/** The unit in one line without braces; null when it is none. */
function unitIn(inner: string): string | null {
  const unit = inner
    .replace(/\\(?:[,;:! ]|cdot|times)|[~·]/gu, " ")
    .replace(/\^\s*\{\s*(-?\d+)\s*\}/gu, "^$1")
    .trim();
  return /^[\p{L}\s/^\d.-]+$/u.test(unit) && parseUnit(unit) !== null ? unit : null;
}
