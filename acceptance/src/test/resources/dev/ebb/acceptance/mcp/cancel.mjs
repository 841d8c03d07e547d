// Cancels a call, and sees that its whole tree is gone while the session goes on.
import assert from "node:assert/strict";
import { call, close, connect, found, until } from "./client.mjs";

const session = await connect();
const sleepers = async () =>
  Number((await found(session, "run_command", { command: "cat /proc/[0-9]*/comm | grep -cx sleep" })).stdout.text);
for (const [name, args] of [
  ["run_command", { command: "setsid sleep 1000 & sleep 1000" }],
  ["execute_code", { language: "bash", code: "trap '' TERM; setsid sleep 1000 & sleep 1000 & wait" }],
]) {
  const stop = new AbortController();
  const doomed = call(session, name, args, { signal: stop.signal, timeout: 600_000 });
  await until("it runs", async () => (await sleepers()) === 2);
  stop.abort("enough");
  await assert.rejects(doomed);
  await until("it is gone", async () => (await sleepers()) === 0);
}
// A cell is interrupted with all that it waits for, and keeps its state.
const cell = (code, options) => call(session, "execute_code", { language: "bash", context: "main", code }, options);
await cell("x=1");
const stop = new AbortController();
const doomed = cell("sleep 1000 | sleep 1000", { signal: stop.signal, timeout: 600_000 });
await until("the cell runs", async () => (await sleepers()) === 2);
stop.abort("enough");
await assert.rejects(doomed);
await until("what it waits for is gone", async () => (await sleepers()) === 0);
const kept = (await cell("echo $x")).structuredContent;
assert.deepEqual([kept.stdout.text, kept.restarted], ["1\n", false]);
await close(session);
console.log("cancelled");
