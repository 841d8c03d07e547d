// Fifty sessions at a time, each in a box of its own.
import assert from "node:assert/strict";
import { close, connect, found } from "./client.mjs";

const all = await Promise.all(
  Array.from({ length: 50 }, async (_, number) => {
    const session = await connect();
    await found(session, "write_file", { path: "mine", content: `${number}` });
    const ran = await found(session, "run_command", { command: "cat mine; sleep 1" });
    assert.equal(ran.stdout.text, `${number}`);
    return { session, box: ran.box };
  }),
);
assert.equal(new Set(all.map(({ box }) => box)).size, 50);
await Promise.all(all.map(({ session }) => close(session)));
console.log("fifty");
