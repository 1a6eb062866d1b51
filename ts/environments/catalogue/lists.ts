/** Access to lists whose bounds the generator knows. */

/** The item at an index. Throws RangeError outside of the list. */
export function at<Item>(list: ArrayLike<Item>, index: number): Item {
  const item = list[index];
  if (item === undefined) throw new RangeError(`no item ${index} among ${list.length}`);
  return item;
}

/** 0, 1, ... below `count`. */
export function range(count: number): number[] {
  const numbers: number[] = [];
  // Array.from of a length takes ten times as long, and was a tenth to a half of the time of many generators.
  for (let index = 0; index < Math.floor(count); index++) numbers.push(index);
  return numbers;
}

/** Lines of a text without empty ones and without spaces around them. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
