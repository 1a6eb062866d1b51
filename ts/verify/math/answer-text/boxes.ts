/** Reads the content of \boxed{...}. */
import { balancedEnds } from "../../balanced.ts";

export interface Place {
  readonly at: number;
  readonly end: number;
  readonly content: string;
}

/** Boxes with their closing brace, in order; a box inside another is part of it. */
export function closedBoxes(text: string): Place[] {
  const boxes: Place[] = [];
  let ends: ReadonlyMap<number, number> | undefined;
  const pattern = /\\(?:boxed|fbox)\s*(?=\{|[^\s{])/gu;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const start = match.index + match[0].length;
    if (text[start] !== "{") {
      const content = /^(?:\\[a-zA-Z]+|-?\d+(?:\.\d+)?|\w)/u.exec(text.slice(start, start + 40))?.[0] ?? "";
      if (content !== "") boxes.push({ at: match.index, end: start + content.length, content });
      continue;
    }
    ends ??= balancedEnds(text);
    const end = ends.get(start);
    if (end === undefined) continue;
    boxes.push({ at: match.index, end, content: text.slice(start + 1, end - 1) });
    pattern.lastIndex = end;
  }
  return boxes.filter(({ content }) => content.trim() !== "");
}

/** A name before a box: x = \boxed{2}. */
const NAME = String.raw`(?:([a-zA-Z](?:_\w|_\{\w+\})?|[A-Z]{2,3})\s*=[\s$]*)?`;
const BLANK = String.raw`(?:[\s$]|\\(?:q?quad|[,;:! ]))*`;
const WORD = String.raw`(?:(?:\\(?:text\w*|mathrm)\s*\{\s*)?(?:and|or)(?:\s*\})?|\\(?:lor|land|vee))`;
/** The words that join two boxes to one list. */
const JOINT = new RegExp(`^${BLANK}(?:[,;]${BLANK}(?:${WORD})?|${WORD})${BLANK}${NAME}$`, "u");
const NAMED = new RegExp(`(?<![a-zA-Z\\\\])${NAME}$`, "u");
const LONGEST_JOINT = 100;

/** Boxes joined by "and", "or" or a comma are one list, with the names that stand before them; any other box stands for itself. */
export function joinedBoxes(text: string): Place[] {
  const joined: Place[] = [];
  for (const box of closedBoxes(text)) {
    const before = joined.at(-1);
    const between = before === undefined ? "" : text.slice(before.end, box.at);
    const joint = before !== undefined && between.length < LONGEST_JOINT ? JOINT.exec(between) : null;
    if (before === undefined || joint === null) {
      joined.push(box);
      continue;
    }
    const first = before.content.includes("=") ? undefined : nameBefore(text, before.at);
    const list = `${withName(first, before.content)}, ${withName(joint[1], box.content)}`;
    joined[joined.length - 1] = {
      at: before.at,
      end: box.end,
      content: joint[1] === undefined ? `${before.content}, ${box.content}` : list,
    };
  }
  return joined;
}

function nameBefore(text: string, at: number): string | undefined {
  return NAMED.exec(text.slice(Math.max(0, at - 20), at).trimEnd())?.[1];
}

function withName(name: string | undefined, content: string): string {
  return name === undefined ? content : `${name} = ${content}`;
}
