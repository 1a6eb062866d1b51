/**
 * Checks that an answer was computed. A verifier that compares values accepts `2^{19} \bmod 15` for 8: the prompt copied into a box would
 * get the same reward as the computation.
 */

/** Commands and signs of operations that are still to be computed. */
const UNDONE =
  /\\(?:[bp]?mod|[dt]?binom|choose|sum|prod|int|lim|gcd|log|ln|exp|operatorname|lfloor|lceil|div|times)(?![a-z])|!|'|\bmod\b|%\d|\b(?:gcd|lcm)\b|\\frac\{d\}|\bd\/dx/u;
/** A number and another with an operation between them. Before a letter, a root or `i` the second one is a factor of a further term. */
const SUM_OF_NUMBERS = /\d[})]*[-+]\(?(?:\\frac|\d+(?:\.\d+)?(?![\d.a-z\\]))/u;
const PRODUCT_OF_NUMBERS = /\d[})]*(?:\*|\\cdot)[({]*(?:-?\d|\\frac)|\d\(|\)\(|\)\d|\\frac\{-?\d+\}\{-?\d+\}\d/u;
const POWER_OF_NUMBER = /[\d})]\^/u;
const ROOT_OF_EXPRESSION = /\\sqrt(?:\[\d+\])?\{(?!\d+\})/u;

/**
 * True for numbers, fractions, roots of whole numbers, sums of such terms with different letters, and tuples, sets and intervals of these.
 * False where an operation between numbers could still be carried out.
 */
export function isFinished(answer: string): boolean {
  const text = answer
    .replace(/\\(?:left|right|[,;:! ]|quad|qquad|dfrac|tfrac)/gu, (command) =>
      command.endsWith("frac") ? "\\frac" : "",
    )
    .replace(/\\(?:text|mathrm)\{[^{}]*\}/gu, "")
    .replace(/\\\$|\$|\s/gu, "");
  if (UNDONE.test(text)) return false;
  // A comma separates answers; a comma between digits is part of a number.
  return text.split(/,(?!\d{3}(?!\d))|;/u).every(isFinishedPart);
}

function isFinishedPart(part: string): boolean {
  // Powers of letters are terms.
  const text = part
    .replace(/([a-z])\^(?:\{\d+\}|\d)/gu, "$1")
    .replace(/^(?:\\\{|[[(])+/u, "")
    .replace(/(?:\\\}|[\])])+$/u, "");
  if ([SUM_OF_NUMBERS, PRODUCT_OF_NUMBERS, POWER_OF_NUMBER, ROOT_OF_EXPRESSION].some((left) => left.test(text)))
    return false;
  return (text.match(/\\frac|\d\/\d/gu) ?? []).length <= 1 || /[a-z]/u.test(text.replaceAll(/\\[a-z]+/gu, ""));
}

/**
 * True when the answer is a part of the problem, holds an operation, and is not written like the gold answer: it was copied, not
 * computed.
 */
export function isCopied(given: string, problem: string, gold: string): boolean {
  const plain = (text: string): string => text.replace(/\\(?:left|right|[,;:! ])|[\s$]/gu, "");
  const [copy, source] = [plain(given), plain(problem)];
  const isExpression = /[-+*/^(=!]|\\[a-z]+/u.test(copy.replace(/^-/u, ""));
  return isExpression && copy !== plain(gold) && source.includes(copy);
}
