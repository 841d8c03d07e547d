// A client that is generated from the daemon's own document: calls it, and holds every answer to its schema.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { components, paths } from "./schema.js";

type Json = { [key: string]: any };

const [base, key] = process.argv.slice(2);
const document: Json = JSON.parse(readFileSync("openapi.json", "utf8"));
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
formats.default(ajv);
ajv.addFormat("int64", true);
ajv.addFormat("binary", true);
ajv.addSchema(document, "openapi");

const checked = new Set<string>();

/** Fails unless the answer is one that the document has for its operation. */
async function check(path: string, method: string, response: Response): Promise<void> {
  const operation = document.paths[path][method.toLowerCase()];
  const status = String(response.status) in operation.responses ? String(response.status) : "default";
  const type = (response.headers.get("content-type") ?? "").split(";")[0];
  let at = `/paths/${path.replaceAll("/", "~1")}/${method.toLowerCase()}/responses/${status}`;
  let answer = operation.responses[status];
  if (answer.$ref) {
    at = answer.$ref.substring(1);
    answer = document.components.responses[at.split("/").at(-1)!];
  }
  if (!answer.content) {
    assert.equal(await response.clone().text(), "", operation.operationId);
  } else {
    assert.ok(type && answer.content[type], `${operation.operationId} answers ${response.status} ${type}`);
    if (type.endsWith("json")) {
      const schema = `openapi#${at}/content/${type.replace("/", "~1").replace("+", "%2B")}/schema`;
      const body = await response.clone().json();
      assert.ok(ajv.validate({ $ref: schema }, body), `${operation.operationId}: ${ajv.errorsText()} in ${JSON.stringify(body)}`);
    }
  }
  checked.add(operation.operationId);
}

const client = createClient<paths, "application/json" | "application/problem+json">({
  baseUrl: base,
  headers: { Authorization: `Bearer ${key}` },
});
client.use({
  async onResponse({ schemaPath, request, response }) {
    await check(schemaPath, request.method, response);
    return undefined;
  },
});

/** What was asked for; a problem fails. */
function good<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  assert.equal(answer.error, undefined, JSON.stringify(answer.error));
  return answer.data as T;
}

function text(output: components["schemas"]["Output"] | undefined): string | undefined {
  return output?.text;
}

// --- the daemon ---

assert.equal(good(await client.GET("/healthz")).alive, true);
assert.ok(good(await client.GET("/v1/version")).version.length > 0);
assert.deepEqual(good(await client.GET("/v1/openapi.json")), document);
assert.ok(good(await client.GET("/v1/languages")).languages.some((each) => each.name === "bash" && each.available));

// --- a box, and commands in it ---

const box = good(
  await client.POST("/v1/boxes", {
    body: { name: "generated", labels: { by: "generator" }, limits: { memoryBytes: 128 * 1024 * 1024 } },
  }),
);
assert.equal(box.state, "running");
assert.equal(box.limits.memoryBytes, 128 * 1024 * 1024);

const path = { box: box.id };
const exec = good(
  await client.POST("/v1/boxes/{box}/execs", {
    params: { path, query: { wait: true } },
    body: { command: ["sh", "-c", "echo out; echo err >&2; exit 3"] },
  }),
);
assert.ok("stdout" in exec);
assert.equal(exec.exitCode, 3);
assert.equal(text(exec.stdout), "out\n");
assert.equal(text(exec.stderr), "err\n");

const started = good(
  await client.POST("/v1/boxes/{box}/execs", { params: { path }, body: { command: ["sleep", "1000"] } }),
);
const number = { ...path, exec: started.number };
const running = good(await client.GET("/v1/boxes/{box}/execs/{exec}", { params: { path: number } }));
assert.equal(running.state, "running");
const killed = good(
  await client.POST("/v1/boxes/{box}/execs/{exec}/kill", { params: { path: number, query: { signal: "KILL" } } }),
);
assert.equal(killed.status, "killed");
assert.equal(good(await client.GET("/v1/boxes/{box}/execs", { params: { path } })).execs.length, 2);
const soFar = good(await client.GET("/v1/boxes/{box}/execs/{exec}/output", {
  params: { path: { ...path, exec: exec.number } },
  headers: { Accept: "application/json" },
}));
assert.ok(typeof soFar !== "string" && soFar.ended);

// --- its files ---

const file = { path, query: { path: "a/b.txt" } };
good(await client.POST("/v1/boxes/{box}/files/mkdir", { params: { path, query: { path: "a" } } }));
good(
  await client.PUT("/v1/boxes/{box}/files", {
    params: { path, query: { path: "a/b.txt", mode: "600" } },
    body: "hello",
    bodySerializer: (body) => body,
    headers: { "Content-Type": "application/octet-stream" },
  }),
);
const entry = good(await client.GET("/v1/boxes/{box}/files/stat", { params: file }));
assert.equal(entry.sizeBytes, 5);
assert.equal(entry.mode, "600");
const { entries } = good(await client.GET("/v1/boxes/{box}/files/list", { params: { path, query: { path: "a" } } }));
assert.deepEqual(entries.map((each) => each.name), ["b.txt"]);
assert.equal(good(await client.GET("/v1/boxes/{box}/files", { params: file, parseAs: "text" })), "hello");
good(await client.DELETE("/v1/boxes/{box}/files", { params: file }));
const missing = await client.GET("/v1/boxes/{box}/files/stat", { params: file });
assert.equal(missing.error?.code, "not-found");

// --- an interpreter of it ---

const context = good(
  await client.POST("/v1/boxes/{box}/contexts", { params: { path }, body: { language: "bash", name: "shell" } }),
);
const cell = good(
  await client.POST("/v1/boxes/{box}/contexts/{context}/cells", {
    params: { path: { ...path, context: context.id } },
    body: { code: "x=5; echo $x" },
  }),
);
assert.equal(cell.outcome, "ok");
assert.equal(text(cell.stdout), "5\n");
good(await client.DELETE("/v1/boxes/{box}/contexts/{context}", { params: { path: { ...path, context: "shell" } } }));

// --- all boxes ---

const page = good(await client.GET("/v1/boxes", { params: { query: { label: ["by=generator"], limit: 10 } } }));
assert.deepEqual(page.boxes.map((each) => each.id), [box.id]);
const details = good(await client.GET("/v1/boxes/{box}", { params: { path } }));
assert.ok(details.holdings.length > 0);
const removed = good(await client.DELETE("/v1/boxes/{box}", { params: { path, query: { force: true } } }));
assert.equal(removed.certificate?.clean, true);
assert.equal((await client.GET("/v1/boxes/{box}", { params: { path: { box: "nowhere" } } })).response.status, 404);

// --- boxes of their own ---

const run = good(
  await client.POST("/v1/run", {
    params: { query: { certificate: "wait" } },
    body: { exec: { command: ["echo", "hi"] } },
  }),
);
assert.ok("certificateUrl" in run);
assert.equal(run.released, "done");
assert.equal(text(run.stdout), "hi\n");
assert.equal(run.certificate?.clean, true);

const code = good(await client.POST("/v1/code", { body: { language: "bash", code: "echo $((6 * 7)) >answer; cat answer" } }));
assert.ok("outcome" in code);
assert.equal(code.outcome, "ok");
assert.equal(text(code.stdout), "42\n");
assert.deepEqual(code.files?.map((each) => each.path), ["answer"]);

// --- what is wrong ---

const wrong = await client.POST("/v1/run", {
  // @ts-expect-error the generated types know what a request must have
  body: { exec: {} },
});
assert.equal(wrong.error?.code, "bad-request");
assert.equal((await client.GET("/v1/pressure")).error?.code, "forbidden");

console.log(`checked ${[...checked].sort().join(" ")}`);
