// Drives every tool, and says which.
import assert from "node:assert/strict";
import { call, close, connect, failure, found, until } from "./client.mjs";

const session = await connect();
const named = Object.fromEntries(session.tools.map((tool) => [tool.name, tool]));
const used = new Set();
const ask = (name, ...rest) => (used.add(name), found(session, name, ...rest));

for (const tool of session.tools) {
  assert.ok(tool.description.length > 40, tool.name);
  assert.equal(tool.inputSchema.additionalProperties, false);
  assert.equal(tool.outputSchema.type, "object");
  assert.equal(tool.annotations.openWorldHint, false);
}
assert.equal(named.read_file.annotations.readOnlyHint, true);
assert.equal(named.write_file.annotations.destructiveHint, true);
assert.equal(named.kill_process.annotations.idempotentHint, true);
assert.match(session.client.getInstructions(), /box/);

// Code, and a picture that it draws.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
used.add("execute_code");
const drawn = await call(session, "execute_code", {
  language: "python",
  code: `import base64, sys\nopen("plot.png", "wb").write(base64.b64decode("${png}"))\nprint(sys.argv[1], input())`,
  args: ["a"],
  stdin: "b\n",
});
assert.equal(drawn.structuredContent.outcome, "ok");
assert.equal(drawn.structuredContent.stdout.text, "a b\n");
assert.deepEqual(drawn.structuredContent.files.map((file) => [file.path, file.type]), [["plot.png", "image/png"]]);
assert.deepEqual(drawn.content.filter((c) => c.type === "image").map((c) => [c.mimeType, c.data]), [["image/png", png]]);
assert.match(drawn.content[0].text, /^ok: /);
assert.equal((await ask("execute_code", { language: "python", code: "def (:" })).outcome, "compile-error");
assert.equal((await ask("execute_code", { language: "bash", code: "exit 3" })).exitCode, 3);
const slow = await ask("execute_code", { language: "bash", code: "echo so far; sleep 1000", timeoutMillis: 3000 });
assert.deepEqual([slow.outcome, slow.stdout.text], ["timed-out", "so far\n"]);
assert.match(await failure(session, "execute_code", { language: "klingon", code: "" }), /unknown language.*python/s);

// State that is kept when wanted: variables, values, figures, and what became of an interpreter that ended.
const python = (code, more) => ask("execute_code", { language: "python", context: "main", code, ...more });
assert.deepEqual([(await python("x = 41")).outcome, (await python("x + 1")).result["text/plain"].text], ["ok", "42"]);
const frame = await python("print('seen'); import pandas; pandas.DataFrame({'a': [x]})");
assert.match(frame.result["text/html"].text, /<table/);
assert.equal(frame.stdout.text, "seen\n");
const figure = await call(session, "execute_code", {
  language: "python",
  context: "main",
  code: "import matplotlib.pyplot as plt\nplt.plot([x])\nopen('kept.txt', 'w').write('1')",
});
assert.deepEqual(figure.content.filter((c) => c.type === "image").map((c) => c.mimeType), ["image/png"]);
assert.ok(figure.structuredContent.files.some((file) => file.path === "kept.txt"));
const thrown = await python("y = 1\n1 / 0");
assert.deepEqual([thrown.outcome, thrown.error.name], ["error", "ZeroDivisionError"]);
const hung = await python("while True: pass", { timeoutMillis: 500 });
assert.deepEqual([hung.outcome, (await python("x + y")).result["text/plain"].text], ["timed-out", "42"]);
const died = await python("import os; os._exit(3)");
assert.deepEqual([died.outcome, died.cause.code, died.state], ["died", 3, "ended"]);
const anew = await call(session, "execute_code", { language: "python", context: "main", code: "'x' in globals()" });
assert.deepEqual([anew.structuredContent.restarted, anew.structuredContent.result["text/plain"].text], [true, "False"]);
assert.match(anew.content[0].text, /earlier variables are gone/);
assert.match(anew.content[0].text, /^result: False$/m);
const shown = await call(session, "execute_code", {
  language: "python",
  context: "main",
  code: "for _ in range(3000): display('x' * 5000)",
});
assert.ok(shown.structuredContent.truncated && JSON.stringify(shown).length < 1 << 20);
assert.match(shown.content[0].text, /further output is omitted/);
assert.equal((await ask("execute_code", { language: "bash", context: "shell", code: "cd /tmp; false" })).exitCode, 1);
assert.equal((await ask("execute_code", { language: "bash", context: "shell", code: "pwd" })).stdout.text, "/tmp\n");
assert.match(await failure(session, "execute_code", { language: "bash", context: "main", code: "" }), /one of python/);
assert.match(await failure(session, "execute_code", { language: "c", context: "d", code: "" }), /only of python/);
assert.match(await failure(session, "execute_code", { language: "bash", context: "a b", code: "" }), /64 letters/);
assert.match(await failure(session, "execute_code", { language: "bash", context: "e", code: "", stdin: "x" }), /a new process/);

// Commands; the box is the same all the time.
const ran = await ask("run_command", {
  command: 'cat; echo "$X" >&2; pwd; exit 7',
  stdin: "in\n",
  environment: { X: "err" },
  workdir: "/tmp",
});
assert.deepEqual(
  [ran.box, ran.status, ran.exitCode, ran.stdout.text, ran.stderr.text, ran.truncated],
  [drawn.structuredContent.box, "exited", 7, "in\n/tmp\n", "err\n", false],
);
const long = await ask("run_command", { command: "yes 0123456789 | head -c 200000" });
assert.equal(long.truncated, true);
let rest = long.stdout.text;
for (let at = long.stdoutOffset; at < 200000; ) {
  const more = await ask("process_output", { process: long.number, stdoutOffset: at, limitBytes: 1000000 });
  rest += more.stdout.text;
  at = more.stdoutOffset;
}
assert.equal(rest, "0123456789\n".repeat(18182).slice(0, 200000));
const binary = await ask("run_command", { command: "printf '\\377\\376ok'" });
assert.equal(binary.stdout.base64, "//5vaw==");

// Progress, while it takes long.
const told = [];
await ask("run_command", { command: "echo a; sleep 6" }, { onprogress: (progress) => told.push(progress) });
assert.ok(told.length >= 2, `${told.length}`);
assert.equal(told[0].total, 60);
assert.match(told[0].message, /running/);
assert.ok(told[1].progress > told[0].progress);

// Processes.
const started = await ask("start_process", { command: "echo one; sleep 1; echo two; sleep 1000 & wait" });
let seen = "";
let at = 0;
await until("both lines", async () => {
  const news = await ask("process_output", { process: started.number, stdoutOffset: at, waitMillis: 5000 });
  assert.equal(news.state, "running");
  seen += news.stdout.text;
  at = news.stdoutOffset;
  return seen === "one\ntwo\n";
});
const killed = await ask("kill_process", { process: started.number, graceMillis: 1000 });
assert.deepEqual([killed.state, killed.status], ["ended", "killed"]);
assert.equal((await ask("kill_process", { process: started.number, signal: "KILL" })).status, "killed");
assert.match(await failure(session, "process_output", { process: 9999 }), /knows no exec 9999/);

// Files.
await ask("write_file", { path: "d/e.txt", content: "häh\n" });
await ask("write_file", { path: "run.sh", content: "IyEvYmluL3NoCmVjaG8geWVzCg==", encoding: "base64", executable: true });
assert.equal((await ask("run_command", { command: "./run.sh" })).stdout.text, "yes\n");
assert.equal((await ask("read_file", { path: "/workspace/d/e.txt" })).content, "häh\n");
const cut = await ask("read_file", { path: "d/e.txt", limitBytes: 2 });
assert.deepEqual([cut.content, cut.nextOffset], ["h", 1]);
const picture = await call(session, "read_file", { path: "plot.png" });
assert.deepEqual([picture.structuredContent.encoding, picture.content[1].type, picture.content[1].data], ["image", "image", png]);
await ask("run_command", { command: "printf '\\377' > raw" });
assert.deepEqual(await ask("read_file", { path: "raw" }), {
  box: ran.box, path: "raw", encoding: "base64", content: "/w==", sizeBytes: 1,
});
assert.deepEqual((await ask("list_files", { path: "d" })).entries.map((e) => [e.name, e.type, e.sizeBytes]), [["e.txt", "file", 5]]);
assert.match(await failure(session, "read_file", { path: "nope" }), /not-found.*list_files/s);
// A way up ends at the root of the box.
assert.match((await ask("read_file", { path: "../../../../../etc/passwd" })).content, /^(?!.*daemon).*:1000:/s);
assert.match(await failure(session, "write_file", { path: "/usr/bin/x", content: "" }), /write_file failed/);

// Boxes.
const other = await ask("create_box", { name: "other", memoryBytes: 67108864 });
assert.equal((await ask("run_command", { box: "other", command: "ls -A | wc -l" })).stdout.text.trim(), "0");
const eaten = await ask("execute_code", { box: other.id, language: "python", code: "x = b'x' * (1 << 30)" });
assert.ok(["out-of-memory", "failed"].includes(eaten.outcome), eaten.outcome);
assert.deepEqual(
  (await ask("list_boxes")).boxes.map((box) => [box.id, box.ofThisSession]).sort(),
  [[ran.box, true], [other.id, true]].sort(),
);
const gone = await ask("remove_box", { box: "other" });
assert.deepEqual([gone.id, gone.certificate.clean, gone.certificate.stuck], [other.id, true, []]);
assert.match(await failure(session, "run_command", { box: "other", command: "true" }), /no box "other"/);
await ask("remove_box", { box: ran.box });
const fresh = await ask("run_command", { command: "ls -A" });
assert.notEqual(fresh.box, ran.box);
assert.equal(fresh.stdout.text, "");

// What makes no sense.
assert.match(await failure(session, "run_command", {}), /"command" is missing/);
assert.match(await failure(session, "run_command", { command: 7 }), /"command" must be a string/);
assert.match(await failure(session, "run_command", { command: "true", timeoutMillis: "1" }), /"timeoutMillis" must be a whole number/);
assert.match(await failure(session, "run_command", { command: "true", more: 1 }), /unknown field "more"; known here: box, command/);
assert.match(await failure(session, "create_box", { name: "../x" }), /bad name/);
await assert.rejects(call(session, "no_such_tool"), /Unknown tool|not found/);

assert.deepEqual([...used].sort(), Object.keys(named).sort());
await close(session);
console.log(`drove ${[...used].sort().join(" ")}`);
