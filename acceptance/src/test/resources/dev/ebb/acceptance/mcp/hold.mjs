// Begins something, says in which box, and stays until it is killed.
import { connect, found } from "./client.mjs";

const session = await connect();
const { box } = await found(session, "start_process", { command: "sleep 1000 & sleep 1000" });
console.log(box);
void found(session, "run_command", { command: "sleep 1000", timeoutMillis: 0 }, { timeout: 1_000_000 });
setInterval(() => {}, 1000);
