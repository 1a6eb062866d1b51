/** The names that the package exports are those of its documents, and the types that they need are among them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isBlock, isIndexedAccessTypeNode, isPrivateIdentifier, isQualifiedName } from "typescript/unstable/ast/is";
import { isHeritageClause, isTypeReferenceNode } from "typescript/unstable/ast/is";
import { API, type Checker, ModifierFlags, type Project, type Symbol, SymbolFlags } from "typescript/unstable/sync";
import type { Node } from "typescript/unstable/ast";
import { afterAll, describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");
const CONFIG = join(ROOT, "tsconfig.json");

/** Types of public signatures that users never name, each with its reason. */
const UNNAMED: Readonly<Record<string, string>> = {
  "config/environment-variables.ts Environment": "variables by name, such as process.env",
  "renderers/replies/parse-completion.ts ReplyForm": "only the renderer makes a GrowingReply",
  "dialects/dialect.ts AgentRequest": "only the server asks a session",
  "environments/interception/session.ts Arrival": "only the server asks a session",
  "environments/interception/session.ts AnswerOnItsWay": "only the server asks a session",
};

/** The source of each entry of package.json, by the name that users import: `prl-lm/engine` → `ts/native/engine.ts`. */
function entries(): [entry: string, file: string][] {
  const { name, exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    name: string;
    exports: Record<string, string | { types: string }>;
  };
  return Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === "string"
      ? []
      : [[entry.replace(".", name), target.types.replace("./dist/", "ts/").replace(/\.d\.ts$/u, ".ts")]],
  );
}

/**
 * The names that the documents list: between backticks in the tables of the sections "Exports of `<entry>`", in all columns but the first,
 * which says what the names are for.
 */
function documentedNames(): Map<string, string[]> {
  const documents = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const names = new Map<string, string[]>();
  for (const file of documents.split("\n").filter((path) => path !== "")) {
    const sections = readFileSync(join(ROOT, file), "utf8").split(/^## /mu).slice(1);
    for (const section of sections) {
      const entry = /^Exports of `([^`]+)`\n/u.exec(section)?.[1];
      if (entry === undefined) continue;
      if (names.has(entry)) throw new Error(`${file}: another document lists the exports of ${entry} already`);
      const cells = section.split("\n").flatMap((line) => (line.startsWith("|") ? line.split("|").slice(2) : []));
      names.set(
        entry,
        cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/gu)].map(([, name = ""]) => name)),
      );
    }
  }
  return names;
}

/** The symbol itself, for a name that comes from another file. */
function original(checker: Checker, symbol: Symbol): Symbol {
  return (symbol.flags & SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}

/** Values and types of an entry, as the compiler resolves them. */
function exportsOf({ program, checker }: Project, file: string): readonly Symbol[] {
  const source = program.getSourceFile(join(ROOT, file));
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${file} is no module`);
  return checker.getExportsOfModule(module);
}

function hasModifier(node: Node, modifier: ModifierFlags): boolean {
  const { modifierFlags = 0 } = node as { modifierFlags?: ModifierFlags };
  return (modifierFlags & modifier) !== 0;
}

/** The types that a declaration names where its users see them: not in bodies, private members, base types and parts of types. */
function typesNamedIn(node: Node): Node[] {
  if (isBlock(node) || isHeritageClause(node) || isIndexedAccessTypeNode(node)) return [];
  const { name } = node as { name?: Node };
  if ((name !== undefined && isPrivateIdentifier(name)) || hasModifier(node, ModifierFlags.Private)) return [];
  const names: Node[] = [];
  if (isTypeReferenceNode(node)) names.push(isQualifiedName(node.typeName) ? node.typeName.right : node.typeName);
  node.forEachChild((child) => {
    names.push(...typesNamedIn(child));
  });
  return names;
}

/** `<file> <name>` of a type that a module of ours exports; null for others. */
function houseType(project: Project, type: Symbol): string | null {
  const [declaration] = type.declarations;
  const node = declaration?.resolve(project);
  if (declaration === undefined || node === undefined || !declaration.path.startsWith(`${ROOT}/ts/`)) return null;
  return hasModifier(node, ModifierFlags.Export) ? `${declaration.path.slice(ROOT.length + 4)} ${type.name}` : null;
}

describe("the exports of the package", () => {
  const api = new API({ cwd: ROOT });
  afterAll(() => api.close());
  const project = api.updateSnapshot({ openProject: CONFIG }).getProject(CONFIG);
  if (project === undefined) throw new Error(`the compiler does not open ${CONFIG}`);
  const { checker } = project;
  const exported = new Map(entries().map(([entry, file]) => [entry, exportsOf(project, file)]));
  const documented = documentedNames();

  test("every entry has a section of its names", () => {
    expect([...documented.keys()].toSorted()).toEqual([...exported.keys()].toSorted());
  });

  test.each([...exported])("%s exports exactly the documented names, each listed once", (entry, symbols) => {
    expect(symbols.length).toBeGreaterThan(0);
    expect(documented.get(entry)?.toSorted()).toEqual(symbols.map(({ name }) => name).toSorted());
  });

  test("types that public declarations name are public", () => {
    const symbols = [...exported.values()].flat().map((symbol) => original(checker, symbol));
    const known = new Set(symbols.map(({ id }) => id));
    const hidden = new Set<string>();
    for (const declaration of symbols.flatMap(({ declarations }) => declarations)) {
      const node = declaration.resolve(project);
      for (const name of node === undefined ? [] : typesNamedIn(node)) {
        const symbol = checker.getSymbolAtLocation(name);
        const type = symbol === undefined ? undefined : original(checker, symbol);
        const found = type === undefined || known.has(type.id) ? null : houseType(project, type);
        if (found !== null) hidden.add(found);
      }
    }
    expect([...hidden].toSorted()).toEqual(Object.keys(UNNAMED).toSorted());
  });
});
