// Runs the cells of a context. Orders and answers go by the line, a socket that was our stdin: see Context and Frames.
((line) => {
  const fs = require("node:fs");
  const util = require("node:util");
  const vm = require("node:vm");
  const inspector = require("node:inspector");
  const showMost = 16 << 20;
  const known = new Set([
    "text/plain", "text/html", "text/markdown", "text/latex", "application/json",
    "image/png", "image/jpeg", "image/svg+xml",
  ]);
  const display = Symbol.for("Jupyter.display");
  let nonce = "0".repeat(16);
  let number = 0;
  let shown = 0;
  let current = null; // what ends the cell that runs

  // --- the line ---

  let unsent = Buffer.alloc(0);

  function send(kind, body = Buffer.alloc(0)) {
    unsent = Buffer.concat([unsent, Buffer.from(`${nonce} ${kind} ${body.length}\n`), body]);
    while (unsent.length > 0) {
      try {
        unsent = unsent.subarray(fs.writeSync(line, unsent));
      } catch (cause) {
        if (cause.code !== "EAGAIN") {
          process.reallyExit(70); // it was closed, or we were left alone
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  }

  // --- what is shown ---

  function encode(type, value) {
    if (Buffer.isBuffer(value) || value instanceof Uint8Array) {
      return Buffer.from(value);
    }
    if (type.startsWith("image/") && type !== "image/svg+xml") {
      return Buffer.from(String(value), "base64");
    }
    return Buffer.from(type === "application/json" && typeof value !== "string" ? JSON.stringify(value) : String(value));
  }

  function forms(value, isRaw) {
    let bundle = null;
    if (value !== null && typeof value === "object") {
      if (typeof value[display] === "function") {
        bundle = value[display]();
      } else if (isRaw && Object.keys(value).length > 0 && Object.keys(value).every((key) => known.has(key))) {
        bundle = value;
      }
    }
    const found = new Map();
    for (const [type, form] of Object.entries(bundle ?? {})) {
      if (known.has(type)) {
        found.set(type, encode(type, form));
      }
    }
    if (found.size === 0) {
      found.set("text/plain", Buffer.from(util.inspect(value)));
    }
    return found;
  }

  function show(kind, found) {
    const size = [...found.values()].reduce((sum, form) => sum + form.length, 0);
    if (shown + size > showMost) {
      send("cut");
      return;
    }
    shown += size;
    for (const [type, form] of found) {
      send("form", Buffer.concat([Buffer.from(type + "\0"), form]));
    }
    send(kind);
  }

  globalThis.display = (...values) => values.forEach((value) => show("display", forms(value, true)));

  // --- cells ---

  const session = new inspector.Session();
  session.connect();

  // As it was thrown, but for frames of ours.
  function describe(cause) {
    if (!(cause instanceof Error)) {
      return ["Error", util.inspect(cause), `Uncaught ${util.inspect(cause)}\n`];
    }
    const lines = String(cause.stack ?? cause).split("\n");
    const ours = lines.findIndex((each) => /^ +at .*(node:inspector|\[eval|node:vm)/.test(each));
    return [String(cause.name), String(cause.message), (ours < 0 ? lines : lines.slice(0, ours)).join("\n") + "\n"];
  }

  function tell(words) {
    send("error", Buffer.from(words.map((word) => word.replaceAll("\0", " ").slice(0, 80 << 10)).join("\0")));
  }

  function evaluate(code, end) {
    // Again and again the same names may be declared, and what is awaited is waited for.
    const expression = code.replace(/\bawait\s+import\s*\(/g, "await ebbImport(") + `\n//# sourceURL=cell-${number}`;
    session.post("Runtime.evaluate", { expression, replMode: true }, (failure, told) => {
      if (failure) {
        end("error", failure);
        return;
      }
      const { type, objectId, value, unserializableValue } = told.exceptionDetails?.exception ?? told.result;
      const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value };
      receive = (found) => end(told.exceptionDetails ? "error" : "ok", type === "undefined" ? undefined : found);
      session.post("Runtime.callFunctionOn", {
        functionDeclaration: "function (value) { this(value) }",
        objectId: receiver,
        arguments: [argument],
      });
      if (objectId) {
        session.post("Runtime.releaseObject", { objectId });
      }
    });
  }

  // By which a value comes out of the inspector.
  let receive = null;
  let receiver = null;
  globalThis.ebbReceive = (value) => receive(value);
  session.post("Runtime.evaluate", { expression: "ebbReceive" }, (_, told) => (receiver = told.result.objectId));
  delete globalThis.ebbReceive;
  Object.defineProperty(globalThis, "ebbImport", { value: (name) => import(name) });

  let job = null;
  Object.defineProperty(globalThis, "ebbRun", { value: () => job() });
  const script = new vm.Script("ebbRun()", { filename: "[eval]" });

  function run(code, changed) {
    const end = (word, value) => {
      if (current !== end) {
        return; // it was interrupted before
      }
      current = null;
      try {
        if (word === "ok" && value !== undefined) {
          show("result", forms(value, false));
        } else if (word === "error") {
          tell(describe(value));
        } else if (word === "interrupted") {
          tell(["Interrupted", "the cell was interrupted", "Interrupted: the cell was interrupted\n"]);
        }
      } catch (cause) {
        word = "error";
        tell(describe(cause));
      }
      for (const [key, before] of changed) {
        if (before === undefined) {
          delete process.env[key];
        } else {
          process.env[key] = before;
        }
      }
      send("done", Buffer.from(word));
    };
    current = end;
    job = () => {
      send("begun");
      evaluate(code, end);
    };
    try {
      script.runInThisContext({ breakOnSigint: true });
    } catch (cause) {
      end(cause.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED" ? "interrupted" : "error", cause);
    }
  }

  process.on("SIGINT", () => current?.("interrupted"));
  process.on("uncaughtException", (cause) => process.stderr.write(`Uncaught ${describe(cause)[2]}`));

  // Words, each with a NUL behind it: nonce, number of variables, variables, code.
  let buffer = Buffer.alloc(0);
  let words = [];

  function hear(more) {
    buffer = Buffer.concat([buffer, more]);
    for (let end = buffer.indexOf(0); end >= 0; end = buffer.indexOf(0)) {
      words.push(buffer.subarray(0, end).toString());
      buffer = buffer.subarray(end + 1);
      if (words.length > 2 && words.length === 3 + Number(words[1])) {
        const [cell, , ...rest] = words;
        const code = rest.pop();
        words = [];
        nonce = cell;
        shown = 0;
        number++;
        const changed = rest.map((each) => {
          const key = each.slice(0, each.indexOf("="));
          const before = process.env[key];
          process.env[key] = each.slice(key.length + 1);
          return [key, before];
        });
        run(code, changed);
      }
    }
  }

  const socket = new (require("node:net").Socket)({ fd: line, readable: true, writable: true });
  socket.on("data", hear);
  socket.on("end", () => process.reallyExit(0));
  socket.on("error", () => process.reallyExit(70));
  process.argv.splice(1);
  send("ready");
})(3);
