/** Upper, lower and title case, and tests of characters, as in Python's `str`. */
import { TemplateUnsupported } from "../failures.ts";
import { codePoints, isSpace } from "./text.ts";

/** Letters whose title case is not their upper case, and which JavaScript does not know. */
const OWN_TITLE_CASE = /[\u01C4-\u01CC\u01F1-\u01F3\p{Script=Georgian}]/u;

function titleCased(character: string): string {
  const upper = character.toUpperCase();
  if (OWN_TITLE_CASE.test(character) || upper.length > character.length) {
    throw new TemplateUnsupported(`the title case of ${character} is not implemented`);
  }
  return upper;
}

export function capitalize(text: string): string {
  const [first = "", ...rest] = codePoints(text);
  return first === "" ? "" : titleCased(first) + rest.join("").toLowerCase();
}

const CASED = /[\p{Lowercase}\p{Uppercase}\p{Lt}]/u;

/** `str.title`: a letter that does not follow a cased letter begins a word. */
export function titleWords(text: string): string {
  let isInside = false;
  const letters = codePoints(text).map((character) => {
    const cased = isInside ? character.toLowerCase() : titleCased(character);
    isInside = CASED.test(character);
    return cased;
  });
  return letters.join("");
}

export function swapCase(text: string): string {
  const swapped = codePoints(text).map((character) => {
    return /\p{Uppercase}/u.test(character) ? character.toLowerCase() : character.toUpperCase();
  });
  return swapped.join("");
}

function isCased(text: string, wrong: RegExp, right: RegExp): boolean {
  return !wrong.test(text) && right.test(text);
}

function isTitle(text: string): boolean {
  let [isInside, found] = [false, false];
  for (const character of codePoints(text)) {
    const isUpper = /[\p{Uppercase}\p{Lt}]/u.test(character);
    const isLower = !isUpper && /\p{Lowercase}/u.test(character);
    if ((isUpper && isInside) || (isLower && !isInside)) return false;
    isInside = isUpper || isLower;
    found ||= isInside;
  }
  return found;
}

/** Refuses numbers that are not decimal digits, because JavaScript does not know which of them Python counts as digits. */
function refuseOddNumbers(text: string, method: string): void {
  if (/[\p{No}\p{Nl}\p{Script=Han}]/u.test(text)) {
    throw new TemplateUnsupported(`${method} of this text is not implemented`);
  }
}

export const TEXT_TESTS: Readonly<Record<string, (text: string) => boolean>> = {
  islower: (text) => isCased(text, /[\p{Uppercase}\p{Lt}]/u, /\p{Lowercase}/u),
  isupper: (text) => isCased(text, /[\p{Lowercase}\p{Lt}]/u, /\p{Uppercase}/u),
  istitle: isTitle,
  isalpha: (text) => /^\p{L}+$/u.test(text),
  isdecimal: (text) => /^\p{Nd}+$/u.test(text),
  isascii: (text) => /^[\0-\x7f]*$/.test(text),
  isspace: (text) => text !== "" && codePoints(text).every(isSpace),
  isidentifier: (text) => /^[\p{ID_Start}_][\p{ID_Continue}]*$/u.test(text),
  isprintable: (text) => !/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(text),
  isdigit: (text) => {
    refuseOddNumbers(text, "isdigit");
    return /^\p{Nd}+$/u.test(text);
  },
  isnumeric: (text) => {
    refuseOddNumbers(text, "isnumeric");
    return /^\p{Nd}+$/u.test(text);
  },
  isalnum: (text) => {
    if (!/^[\p{L}\p{Nd}]*$/u.test(text)) refuseOddNumbers(text.replace(/\p{Script=Han}/gu, ""), "isalnum");
    return /^[\p{L}\p{Nd}]+$/u.test(text);
  },
};
