/** A project as data, and its files: right ones, ones with a fault, ones without a feature. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import {
  type Domain,
  DOMAINS,
  drawSettings,
  ENTRY_KINDS,
  type EntryKind,
  type Settings,
  settingsText,
} from "./domains.ts";
import type { Files } from "./python/run-files.ts";
import { CORE } from "./templates/core.ts";
import { DESK_FEATURES } from "./templates/desk-features.ts";
import { ENTRIES } from "./templates/entries.ts";
import { CONVENTIONS, DESK, FEATURES } from "./templates/features.ts";
import { LIB } from "./templates/lib.ts";
import { MONEY_FEATURES } from "./templates/money-features.ts";
import type { Template } from "./templates/template.ts";

export interface Project {
  readonly entry: EntryKind;
  /** Index of its domain. */
  readonly domain: number;
  /** What its package is called. */
  readonly pkg: string;
  /** Optional parts, in the order of `FEATURES`. */
  readonly features: readonly string[];
  readonly settings: Settings;
}

/** One site of a template with another alternative than the right one. */
export interface Fault {
  readonly path: string;
  readonly site: number;
  /** 1 for the first wrong alternative. */
  readonly choice: number;
}

export interface Site {
  readonly path: string;
  readonly site: number;
  readonly feature: string | null;
  /** Function in which it stands. */
  readonly within: string;
  readonly choices: number;
}

const TEMPLATES: readonly Template[] = [...CORE, ...LIB, ...DESK_FEATURES, ...MONEY_FEATURES];
const SITE = /«([^»]*)»/gu;
const ONLY = / §([a-z]+)$/u;
/** Of packages, so that a file of one project is seldom one of another. */
const SUFFIXES = ["", "_app", "_core", "_desk", "_server", "_service", "_works"] as const;
const MOST_KEPT = 4_000;
const TEXTS = new Map<string, string>();

export const COMMANDS = "docs/commands.md";
export const RULES = "docs/rules.md";

/** `count` optional features; one of them is `needed`, where it is given. */
export function drawProject(rng: Rng, count: number, needed: string | null = null): Project {
  const domain = rng.integer(DOMAINS.length);
  const others = FEATURES.map(({ id }) => id).filter((id) => id !== needed);
  const chosen =
    needed === null ? sample(others, count, rng) : [needed, ...sample(others, Math.max(0, count - 1), rng)];
  return {
    entry: rng.pick(ENTRY_KINDS),
    domain,
    pkg: `${at(DOMAINS, domain).pkg}${rng.pick(SUFFIXES)}`,
    features: FEATURES.map(({ id }) => id).filter((id) => chosen.includes(id)),
    settings: drawSettings(rng, at(DOMAINS, domain)),
  };
}

/** The words of its domain, with the name of its package. */
export function domainOf({ domain, pkg }: Project): Domain {
  return { ...at(DOMAINS, domain), pkg };
}

/** Python files by path. */
export function codeOf(project: Project, faults: readonly Fault[] = []): Files {
  const { pkg } = domainOf(project);
  const files: Record<string, string> = {
    [`${pkg}/main.py`]: worded(ENTRIES[project.entry], project),
    [`${pkg}/settings.py`]: settingsText(project.settings, project.features),
  };
  for (const template of TEMPLATES)
    if (template.feature === undefined || project.features.includes(template.feature))
      files[pathOf(project, template.path)] = textOf(project, template, faults);
  return files;
}

/** The path in the project of a template's file. */
export function pathOf(project: Project, path: string): string {
  return `${domainOf(project).pkg}/${path}`;
}

export function docsOf(project: Project): Files {
  const parts = [DESK, ...FEATURES.filter(({ id }) => project.features.includes(id))];
  const commands = parts.map(({ command }) => command).join("\n");
  return {
    "docs/conventions.md": CONVENTIONS,
    [COMMANDS]: `# Commands\n\n${worded(commands, project)}\n`,
    [RULES]: `# Rules\n\n${worded(parts.flatMap(({ rules }) => rules.map((rule) => `- ${rule}`)).join("\n"), project)}\n`,
  };
}

/** Sites of the project. */
export function sitesOf({ features }: Project): Site[] {
  return SITES.filter(({ feature }) => feature === null || features.includes(feature));
}

const SITES: readonly Site[] = TEMPLATES.flatMap(({ path, feature, text }) => {
  const sites: Site[] = [];
  let within = "";
  for (const line of text.split("\n")) {
    within = /^ *def (\S+)\(/u.exec(line)?.[1] ?? within;
    const only = ONLY.exec(line)?.[1] ?? feature ?? null;
    for (const found of line.matchAll(SITE))
      sites.push({ path, site: sites.length, feature: only, within, choices: (found[1] ?? "").split("|").length - 1 });
  }
  return sites;
});

/** The function of a site, as `module:name`. */
export function functionOf(project: Project, { path, within }: Pick<Site, "path" | "within">): string {
  const module = pathOf(project, path).replace(/\.py$/u, "").replaceAll("/", ".");
  return `${module}:${worded(within, project)}`;
}

/** Words of the domain in place of `$words`. */
export function worded(text: string, project: Project): string {
  const { pkg, item, person, people } = domainOf(project);
  const words: Readonly<Record<string, string>> = {
    pkg,
    item,
    person,
    people,
    items: `${item}s`,
    Items: `${item[0]?.toUpperCase() ?? ""}${item.slice(1)}s`,
  };
  return text.replaceAll(/\$(items|item|Items|people|person|pkg)/gu, (_, word: string) => words[word] ?? word);
}

function textOf(project: Project, { path, text }: Template, faults: readonly Fault[]): string {
  const here = faults.filter((fault) => fault.path === path);
  const features = project.features.filter((feature) => text.includes(` §${feature}\n`));
  const key = [project.pkg, path, ...here.map(({ site, choice }) => `${site}=${choice}`), ...features].join(" ");
  const known = TEXTS.get(key);
  if (known !== undefined) return known;
  let site = -1;
  const lines = text.split("\n").flatMap((line) => {
    const chosen = line.replaceAll(SITE, (_, inside: string) => {
      site += 1;
      const fault = here.find((one) => one.site === site);
      return inside.split("|")[fault?.choice ?? 0] ?? "";
    });
    const only = ONLY.exec(chosen)?.[1];
    if (only !== undefined && !project.features.includes(only)) return [];
    return [chosen.replace(ONLY, "").trimEnd()];
  });
  const made = worded(lines.join("\n"), project);
  if (TEXTS.size >= MOST_KEPT) TEXTS.clear();
  TEXTS.set(key, made);
  return made;
}

/** Every wrong alternative of a site. */
export function faultsOf({ path, site, choices }: Site): Fault[] {
  return range(choices).map((index) => ({ path, site, choice: index + 1 }));
}
