import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { terminalPlot } from "../../../ts/monitors/index.ts";

describe("the plot of a terminal", () => {
  test("a rising line goes from the lower left to the upper right, between labelled axes", () => {
    const line = [
      { x: 1, y: 0.25 },
      { x: 9, y: 0.75 },
    ];
    expect(terminalPlot({ line, marks: [], width: 12, height: 4 })).toEqual([
      "0.7500 ┤  ⡠⠊",
      "0.2500 ┤⡠⠊",
      "       └────",
      "        1  9",
    ]);
  });

  test("marks are drawn over the line; without finite values there is no plot", () => {
    const marks = [{ character: "●", points: [{ x: 0, y: 1 }] }];
    expect(terminalPlot({ line: [], marks, width: 12, height: 4 })[1]).toBe("1.0000 ┤●");
    expect(terminalPlot({ line: [{ x: 1, y: NaN }], marks: [], width: 12, height: 4 })).toEqual([]);
  });

  test("never wider or higher than asked for", () => {
    const points = fc.array(fc.record({ x: fc.nat(1e6), y: fc.double({ min: -1e9, max: 1e9 }) }), { minLength: 1 });
    fc.assert(
      fc.property(points, fc.integer({ min: 30, max: 90 }), fc.integer({ min: 4, max: 20 }), (line, width, height) => {
        const lines = terminalPlot({ line, marks: [{ character: "●", points: line }], width, height });
        if (lines.length > 0) expect(lines).toHaveLength(height);
        expect(Math.max(0, ...lines.map((each) => each.length))).toBeLessThanOrEqual(width);
      }),
    );
  });
});
