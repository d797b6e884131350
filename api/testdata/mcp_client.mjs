// A client in another language: lists the tools, dispatches, reads and cancels over MCP.
// Arguments: URL, token, JSON of {create, spec, write_context}. Prints what it saw as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token, input] = process.argv.slice(2);
const { create, spec, write_context } = JSON.parse(input);
const client = new Client({ name: "other-language", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));

// callTool checks every structured content, of errors too, against the tool's output schema.
const use = (name, args) => client.callTool({ name, arguments: args });
const tools = (await client.listTools()).tools.map((t) => t.name).sort();
const task = (await use("task_create", create)).structuredContent;
spec.task_id = task.id;
const dispatched = (await use("workflow_dispatch", { spec, write_context })).structuredContent;
const again = (await use("workflow_dispatch", { spec, write_context })).structuredContent;
const read = (await use("workflow_get", { task_id: task.id, limit: 1 })).structuredContent;
const control = { task_id: task.id, expected_version: 1, action: "cancel", write_context };
const cancelled = (await use("workflow_control", control)).structuredContent;
const conflict = await use("workflow_dispatch", { spec: { ...spec, prompt: "another" }, write_context });
const invalid = await use("workflow_dispatch", { spec: { ...spec, nonsense: 1 }, write_context });
await client.close();
console.log(JSON.stringify({
  tools, replayed: dispatched.workflow_id === again.workflow_id, phase: dispatched.phase, page: read.history.length, cancelled: cancelled.phase,
  conflict: [conflict.isError, conflict.structuredContent.code], invalid: [invalid.isError, invalid.structuredContent.path],
}));
