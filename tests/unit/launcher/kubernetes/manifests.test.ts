/** The manifests of runs: as they are stored, as the API of three versions of Kubernetes takes them, and what no text in them can do. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import * as fc from "fast-check";
import { load } from "js-yaml";
import { describe, expect, onTestFinished, test } from "vitest";

import { loadConfig } from "../../../../ts/config/index.ts";
import { labelsOf, objectName } from "../../../../ts/launcher/kubernetes/names.ts";
import { toYaml, type Yaml } from "../../../../ts/launcher/kubernetes/yaml.ts";
import { DEPLOYMENTS, manifestsOf, rendered } from "./render.ts";

const GOLDEN = join(import.meta.dirname, "../../../fixtures/kubernetes");

interface Schemas {
  versions: Record<string, Record<string, object>>;
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string> };
}

const objectsOf = (files: ReadonlyMap<string, string>) => manifestsOf(files).map((text) => load(text) as Manifest);

describe.each(Object.entries(DEPLOYMENTS))("the folder of a deployment: %s", (name, render) => {
  test("is as stored", () => {
    const folder = join(GOLDEN, name);
    for (const [file, text] of render()) {
      // The config and the script are not made here.
      if (!file.endsWith(".yaml")) continue;
      if (process.env["PRL_BLESS"] === "1") {
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, file), text);
      }
      expect([file, text]).toEqual([file, readFileSync(join(folder, file), "utf8")]);
    }
  });

  test("has the files that its kustomization names, and only their names in it", () => {
    const files = render();
    const { resources, configMapGenerator, secretGenerator } = load(files.get("kustomization.yaml") ?? "") as {
      resources: string[];
      configMapGenerator: { files: string[] }[];
      secretGenerator: { envs: string[] }[];
    };
    const named = [...resources, ...configMapGenerator.flatMap((one) => one.files)];
    expect(named.toSorted()).toEqual([...files.keys()].filter((file) => file !== "kustomization.yaml").toSorted());
    expect(secretGenerator.flatMap(({ envs }) => envs)).toEqual(["key.env"]);
  });

  test("has objects whose labels select each other", () => {
    const objects = objectsOf(render());
    const instances = new Set(objects.map(({ metadata }) => metadata.labels["app.kubernetes.io/instance"]));
    expect(instances.size).toBe(1);
    for (const object of objects as (Manifest & { spec: Record<string, Record<string, unknown>> })[]) {
      const selector = object.spec["selector"]?.["matchLabels"] ?? object.spec["selector"];
      if (selector !== undefined) expect(object.metadata.labels).toMatchObject(selector);
    }
  });
});

const schemas = JSON.parse(readFileSync(join(GOLDEN, "schemas.json"), "utf8")) as Schemas;

describe.each(Object.keys(schemas.versions))("Kubernetes %s", (version) => {
  const ajv = new Ajv({ strict: false, formats: { "int-or-string": true, int32: true, int64: true } });
  const validators = new Map(
    Object.entries(schemas.versions[version] ?? {}).map(([kind, schema]) => [kind, ajv.compile(schema)]),
  );

  test.each(Object.entries(DEPLOYMENTS))("takes the manifests of %s", (_name, render) => {
    for (const object of objectsOf(render())) {
      const validate = validators.get(`${object.apiVersion} ${object.kind}`);
      expect([object.kind, validate?.(object), validate?.errors]).toEqual([object.kind, true, null]);
    }
  });

  test("does not take a field that it does not know, or a value of another type", () => {
    const [job] = objectsOf(rendered({}));
    const validate = validators.get("batch/v1 Job");
    const changed = (more: object) => ({ ...job, spec: { ...(job as unknown as { spec: object }).spec, ...more } });
    expect(validate?.(changed({ backoffLimt: 3 }))).toBe(false);
    expect(validate?.(changed({ backoffLimit: "3" }))).toBe(false);
    expect(validate?.(changed({ backoffLimit: 3 }))).toBe(true);
  });
});

/** Texts that mean something to YAML, to a shell or to Kubernetes. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(...`'"\\$#:-?*&!|>%@\`{}[],~ \n\r\t\0\u0085\u2028\ufeff`.split("")),
      fc.constantFrom("$(PRL_TRANSPORT_TOKEN)", "$$", ": ", " #", "\n- a: b", "---", "no", "1e3", "0x1f", "null", "🙂"),
      fc.string({ unit: "binary", maxLength: 4 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(""));

describe("YAML", () => {
  test("has the value that was written, whatever is in it", () => {
    const { tree } = fc.letrec<{ tree: Yaml }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        hostile,
        fc.integer(),
        fc.boolean(),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(
          hostile.filter((key) => key !== "__proto__" && key !== "<<"),
          tie("tree"),
          { maxKeys: 4, noNullPrototype: true },
        ),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        expect(load(toYaml(value))).toEqual(value);
      }),
    );
  });

  test("is printable ASCII", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(toYaml({ [text]: text })).toMatch(/^[\x20-\x7e\n]*$/u);
      }),
    );
  });
});

/** As Kubernetes replaces variables in arguments: `$$` is a dollar sign, `$(NAME)` a variable. */
function expanded(text: string): string {
  return text.replaceAll(/\$\$|\$\(([^)]*)\)/gu, (found) => (found === "$$" ? "$" : "(the value of a variable)"));
}

describe("a deployment with hostile texts", () => {
  test("has them as values, in containers that get them as they were given", () => {
    const word = hostile.filter((text) => text !== "");
    fc.assert(
      fc.property(word, word, word, (image, value, command) => {
        const kubernetes = { image, env: { VALUE: value }, command: [command], inference_pods: true };
        const objects = objectsOf(rendered({ kubernetes: { ...kubernetes, storage: "1Gi" } }));
        expect(objects.map(({ kind }) => kind)).toEqual(["PersistentVolumeClaim", "Job", "Service", "StatefulSet"]);
        for (const object of objects as { spec?: { template?: { spec: { containers: Container[] } } } }[] &
          Manifest[]) {
          for (const container of object.spec?.template?.spec.containers ?? []) {
            expect(container.image).toBe(image);
            const given = container.env.find(({ name }) => name === "VALUE")?.value ?? "";
            expect(expanded(given)).toBe(value);
            expect([...container.command, ...(container.args ?? [])].map(expanded)).toContain(command);
          }
        }
      }),
    );
  });
});

interface Container {
  image: string;
  command: string[];
  args?: string[];
  env: { name: string; value?: string }[];
}

const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/u;
const VALUE = /^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$/u;
/** What Kubernetes adds to the name of a StatefulSet in a label of its pods. */
const REVISION = "-5d4f8c7b9d";

describe("names of objects", () => {
  const run = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,150}$/u);

  test("are labels of RFC 1123, with all that is added to them", () => {
    fc.assert(
      fc.property(run, (name) => {
        const made = `${objectName(name)}-inference`;
        expect(made).toMatch(LABEL);
        expect(`${made}${REVISION}`.length).toBeLessThanOrEqual(63);
        for (const value of Object.values(labelsOf(objectName(name), "inference"))) {
          expect(value).toMatch(VALUE);
          expect(value.length).toBeLessThanOrEqual(63);
        }
      }),
    );
  });

  test("differ for runs that differ", () => {
    fc.assert(
      fc.property(run, run, (a, b) => {
        expect(objectName(a) === objectName(b)).toBe(a === b);
      }),
    );
    expect(objectName("mine")).toBe("prl-mine");
    expect(objectName("Mine")).not.toBe(objectName("mine"));
    expect(objectName("a.b")).not.toBe(objectName("a-b"));
    expect(new Set(["x".repeat(100), "x".repeat(101)].map(objectName)).size).toBe(2);
  });
});

describe("the config of the pods", () => {
  test("is a config, with the places of the containers and the names of the servers", async () => {
    const folder = mkdtempSync(join(tmpdir(), "prl-kubernetes-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const kubernetes = { inference_pods: true, claim: "runs" };
    const text = rendered({ inference: { replicas: 2 }, kubernetes }).get("rl.toml") ?? "";
    writeFileSync(join(folder, "rl.toml"), text);
    const { config } = await loadConfig([join(folder, "rl.toml")], [], { kind: "rl", env: {}, cwd: "/" });
    expect(config.output_dir).toBe("/prl/data/runs");
    expect(config.run.name).toBe("mine");
    expect(config.orchestrator.client.base_url).toEqual([
      "http://prl-mine-inference-0.prl-mine-inference:8000",
      "http://prl-mine-inference-1.prl-mine-inference:8000",
    ]);
  });

  test.each([
    [{ kubernetes: { image: null } }, "kubernetes.image"],
    [{ kubernetes: { inference_pods: true } }, "kubernetes.inference_pods"],
    [{ inference: { backend: "vllm" }, kubernetes: { inference_pods: true, claim: "c" } }, "inference.backend"],
    [{ deployment: { type: "colocated" }, kubernetes: { inference_pods: true, claim: "c" } }, "deployment.type"],
    [{ kubernetes: { inference_pods: true, claim: "c" }, weight_broadcast: { type: "grpc" } }, "weight_broadcast.type"],
  ])("refuses what cannot be deployed by its key: %j", (config, key) => {
    expect(() => rendered(config)).toThrow(new RegExp(`${key.replaceAll(".", "\\.")}: `, "u"));
  });
});

test("stored folders are those of the deployments", () => {
  for (const name of Object.keys(DEPLOYMENTS)) expect(existsSync(join(GOLDEN, name))).toBe(true);
});
