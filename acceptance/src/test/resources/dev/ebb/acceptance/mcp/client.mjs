// Connects the official client to Ebb: `stdio /path/to/ebb`, or `http URL KEY`.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, where, key] = process.argv.slice(2);

export async function connect() {
  const client = new Client({ name: "test", version: "1" });
  const transport =
    kind === "stdio"
      ? new StdioClientTransport({ command: where, args: ["mcp"], env: { ...process.env } })
      : new StreamableHTTPClientTransport(new URL(where), {
          requestInit: { headers: { Authorization: `Bearer ${key}` } },
        });
  await client.connect(transport);
  // With the schemas at hand the client checks every structured result against them.
  const { tools } = await client.listTools();
  return { client, transport, tools };
}

export async function close({ client, transport }) {
  if (kind === "http") await transport.terminateSession();
  await client.close();
}

export async function call({ client }, name, args = {}, options = {}) {
  return await client.callTool({ name, arguments: args }, undefined, options);
}

/** What a tool found; it must not have failed. */
export async function found(session, name, args, options) {
  const result = await call(session, name, args, options);
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(result.content)}`);
  return result.structuredContent;
}

/** What a tool says of its failure; it must have failed. */
export async function failure(session, name, args) {
  const result = await call(session, name, args);
  if (!result.isError) throw new Error(`${name} should fail: ${JSON.stringify(result)}`);
  return result.content[0].text;
}

export async function until(what, condition) {
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    if (await condition()) return;
  }
  throw new Error(`in 30 s not: ${what}`);
}
