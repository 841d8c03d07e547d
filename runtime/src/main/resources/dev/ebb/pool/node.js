(() => {
  const modules = require("node:module");
  const path = require("node:path");
  const fs = require("node:fs");
  const vm = require("node:vm");

  function call(name) {
    const before = fs.readFileSync("/proc/self/comm", "utf8").trimEnd();
    fs.writeFileSync("/proc/self/comm", name);
    return before;
  }

  function take(size) {
    const data = Buffer.alloc(size);
    for (let end = 0; end < size; ) {
      const more = fs.readSync(0, data, end, size - end);
      if (more === 0) {
        process.reallyExit(0);
      }
      end += more;
    }
    return data;
  }

  function readNothing() {
    fs.closeSync(0);
    if (fs.openSync("/dev/null", "r+") !== 0) {
      throw new Error("/dev/null is not the standard input");
    }
  }

  // What is global for code of the command line alone.
  function forgetGlobals() {
    for (const name of [...modules.builtinModules, "module", "exports", "require", "__filename", "__dirname"]) {
      const found = Object.getOwnPropertyDescriptor(globalThis, name);
      const isOurs = found && found.configurable && (found.get ? found.get.name === "get" : found.enumerable);
      if (isOurs && name !== "process") {
        delete globalThis[name];
      }
    }
  }

  function evaluate(code, rest) {
    process.argv.splice(1, Infinity, ...rest);
    process.execArgv.splice(0, Infinity, "-e", code);
    Object.defineProperty(process, "_eval", { value: code });
    /^/.exec(""); // As node does: the statics of RegExp are to be as new.
    new vm.Script(code, { filename: "[eval]" }).runInThisContext();
  }

  // As node itself does, with a file whose name it was given at its start.
  function runFile(name, rest) {
    process.argv.splice(1, Infinity, path.resolve(name), ...rest);
    process.execArgv.splice(0, Infinity);
    delete process._eval;
    forgetGlobals();
    /^/.exec("");
    modules.runMain();
  }

  const mine = call("ebb-waiting");
  const words = take(take(4).readUInt32LE()).toString().split("\0");
  call(mine);
  const count = Number(words[1]);
  const [first, ...rest] = words.slice(2, 2 + count);
  if (words[0] === "") {
    readNothing();
  }
  for (const line of words.slice(2 + count)) {
    const equals = line.indexOf("=");
    process.env[line.slice(0, equals)] = line.slice(equals + 1);
  }
  if (first === "-e") {
    evaluate(rest[0], rest.slice(1));
  } else {
    runFile(first, rest);
  }
})();
