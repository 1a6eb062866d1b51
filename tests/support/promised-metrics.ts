/** The names that `configs/metrics.md` lists, and those of them that it promises for every line of a component. */
import { readFile } from "node:fs/promises";

const PAGE = new URL("../../configs/metrics.md", import.meta.url);
const PROMISED = "## prime-rl's names, on every line";
const ABSENT = "## Names of prime-rl that are missing";
/** What every line has beside its numbers. */
const FIELDS: ReadonlySet<string> = new Set(["component", "attempt", "step", "time"]);
const STATS = ["mean", "max", "min", "p10", "p90"];

/** Each promised name of a component as a pattern: what stands in angle brackets is any name, an ellipsis any names. */
export async function promisedNames(component: string): Promise<RegExp[]> {
  const [, section = ""] = (await readFile(PAGE, "utf8")).split(PROMISED);
  return namesIn(section.split("\n## ")[0] ?? "", component);
}

/** All that the component may have. */
export async function listedNames(component: string): Promise<RegExp[]> {
  return namesIn((await readFile(PAGE, "utf8")).split(ABSENT)[0] ?? "", component);
}

/** The promised names that a line does not have. */
export function missing(promised: readonly RegExp[], line: object): string[] {
  const names = Object.keys(line);
  return promised.filter((name) => !names.some((own) => name.test(own))).map(String);
}

/** The names of a line that are not listed. */
export function unlisted(listed: readonly RegExp[], line: object): string[] {
  return Object.keys(line).filter((name) => !FIELDS.has(name) && !listed.some((known) => known.test(name)));
}

function namesIn(text: string, component: string): RegExp[] {
  return text.split("\n").flatMap((row) => {
    const [, line = "", names = ""] = row.split("|").map((cell) => cell.trim());
    return line === component
      ? [...names.matchAll(/`([^`]+)`/gu)].flatMap(([, name = ""]) => expanded(name).map(pattern))
      : [];
  });
}

function expanded(name: string): string[] {
  const [whole, choices] = /\{([^{}]*)\}/u.exec(name) ?? (name.includes("<stats>") ? ["<stats>", STATS.join(",")] : []);
  if (whole === undefined || choices === undefined) return [name];
  return choices.split(",").flatMap((choice) => expanded(name.replace(whole, choice)));
}

function pattern(name: string): RegExp {
  const escaped = name.replaceAll(/[.*+?^$()|[\]\\]/gu, "\\$&");
  return new RegExp(`^${escaped.replaceAll(/<[^>]+>|\\.\\.\\./gu, ".+")}$`, "u");
}
