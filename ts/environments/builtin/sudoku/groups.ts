/** Grid puzzles as groups of cells: in each group every number stands once. Cells are numbered row by row. */

/** `latin`: rows and columns; `sudoku`: boxes too; `diagonal`: both diagonals as well. */
export const KINDS = ["sudoku", "latin", "diagonal"] as const;
export type Kind = (typeof KINDS)[number];

export const SIZES = [4, 6, 9] as const;
export type Size = (typeof SIZES)[number];

/** Rows and columns of one box. */
export const BOXES: Readonly<Record<Size, readonly [rows: number, columns: number]>> = {
  4: [2, 2],
  6: [2, 3],
  9: [3, 3],
};

export function groupsOf(size: Size, kind: Kind): number[][] {
  const span = Array.from({ length: size }, (_, index) => index);
  const lines = span.flatMap((line) => [
    span.map((column) => line * size + column),
    span.map((row) => row * size + line),
  ]);
  if (kind === "latin") return lines;
  const [height, width] = BOXES[size];
  const boxes = span.map((box) => {
    const top = Math.floor(box / (size / width)) * height;
    const left = (box % (size / width)) * width;
    return span.map((cell) => (top + Math.floor(cell / width)) * size + left + (cell % width));
  });
  if (kind === "sudoku") return [...lines, ...boxes];
  return [...lines, ...boxes, span.map((row) => row * size + row), span.map((row) => (row + 1) * size - 1 - row)];
}
