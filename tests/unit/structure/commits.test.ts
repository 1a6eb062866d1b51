import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");
const MOST_CHARACTERS = 72;

/** The last commit before this test. Some subjects up to it are longer. */
const SINCE = "8248e9923a71424fdf84df83d06913569aa26850";

const git = (...args: string[]) => spawnSync("git", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 16 << 20 });

/** The lines of a log, a commit and its subject each, whose subject is too long. */
const tooLong = (log: string): string[] =>
  log.split("\n").filter((line) => new RegExp(`^\\S+ .{${MOST_CHARACTERS + 1},}$`, "u").test(line));

test(`the subject of a commit has at most ${MOST_CHARACTERS} characters`, ({ skip }) => {
  const history = git("merge-base", "--is-ancestor", SINCE, "HEAD");
  if (history.status !== 0) skip(`this copy of the repository lacks the history since ${SINCE.slice(0, 8)}`);
  const { stdout, status } = git("log", "--no-merges", "--format=%h %s", `${SINCE}..HEAD`);
  expect(status).toBe(0);
  expect(tooLong(stdout)).toEqual([]);
});

test("a subject that is too long is found", () => {
  const long = `0123abcd ${"a".repeat(MOST_CHARACTERS + 1)}`;
  expect(tooLong(`0123abcd ${"ä".repeat(MOST_CHARACTERS)}\n${long}\n`)).toEqual([long]);
});
