// An MCP server made with the official SDK: over stdio, or with a port as its argument over streamable HTTP.
import { randomUUID } from "node:crypto";
import http from "node:http";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const text = (words) => ({ content: [{ type: "text", text: words }] });

function makeServer() {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  server.registerTool(
    "add",
    { description: "Adds two numbers", inputSchema: { a: z.number().int().min(0).max(99), b: z.number().int().min(0).max(99) } },
    async ({ a, b }) => text(`The sum is ${a + b}.`),
  );
  server.registerTool("fail", { description: "Always fails" }, async () => {
    throw new Error("out of paper");
  });
  server.registerTool("huge", { description: "Says a lot" }, async () => text("x".repeat(3_000_000)));
  server.registerTool("hang", { description: "Never answers" }, () => new Promise(() => {}));
  server.registerTool("token", { description: "Tells the token" }, async () => text(process.env.MCP_TOKEN ?? "none"));
  server.registerTool("exit", { description: "Ends the server" }, async () => process.exit(1));
  return server;
}

const sessions = new Map();

async function bodyOf(request) {
  let body = "";
  for await (const piece of request) body += piece;
  return body ? JSON.parse(body) : undefined;
}

async function handle(request, response) {
  const body = await bodyOf(request);
  if (request.url === "/forget") {
    sessions.clear();
    return response.end();
  }
  let transport = sessions.get(request.headers["mcp-session-id"]);
  if (!transport && body && isInitializeRequest(body)) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
      enableJsonResponse: process.argv[3] === "json",
    });
    await makeServer().connect(transport);
  }
  if (!transport) {
    response.writeHead(404);
    return response.end("no such session");
  }
  await transport.handleRequest(request, response, body);
}

if (process.argv[2]) http.createServer(handle).listen(Number(process.argv[2]), "127.0.0.1");
else await makeServer().connect(new StdioServerTransport());
