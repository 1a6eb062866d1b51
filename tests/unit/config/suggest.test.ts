import * as fc from "fast-check";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { cacheDir } from "../../../ts/config/index.ts";
import { editDistance, nearest } from "../../../ts/config/keys/suggest.ts";

describe("edit distance", () => {
  test.each([
    ["", "abc", 3],
    ["kitten", "sitting", 3],
    ["batch_sise", "batch_size", 1],
    ["gruop", "group", 1],
    ["abc", "abc", 0],
  ])("of %j and %j is %i", (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  test("is symmetric, 0 only for equals, and bounded by the longer word", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
      }),
    );
  });
});

describe("the nearest name", () => {
  test("is the one with the fewest edits, the first of equals", () => {
    expect(nearest("modle", ["mode", "model", "mod"])).toBe("model");
    expect(nearest("LR", ["lr"])).toBe("lr");
  });

  test("is none when nothing resembles the word", () => {
    expect(nearest("learning_rate", ["lr", "eps", "betas"])).toBeNull();
    expect(nearest("ab", ["xy"])).toBeNull();
  });
});

describe("the cache folder", () => {
  test("is PRL_CACHE_DIR, made absolute, else in the home folder", () => {
    expect(cacheDir({ PRL_CACHE_DIR: "/c" })).toBe("/c");
    expect(cacheDir({ PRL_CACHE_DIR: "c" })).toBe(resolve("c"));
    expect(cacheDir({ PRL_CACHE_DIR: "" })).toBe(join(homedir(), ".cache", "prl"));
    expect(cacheDir({})).toBe(join(homedir(), ".cache", "prl"));
  });
});
