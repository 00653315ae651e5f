// Builds web/dist from web/src: one script, one style sheet, and the page that names them. `build.mjs FOLDER`
// writes elsewhere. The same sources always give the same bytes.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", style: "src/style/index.css" },
  outdir: out,
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  metafile: true,
  logLevel: "warning",
});

const names = Object.keys(result.metafile.outputs).map((path) => basename(path));
const named = (prefix) => names.find((name) => name.startsWith(prefix));
const page = readFileSync(join(here, "src/index.html"), "utf8");
writeFileSync(
  join(out, "index.html"),
  page.replace("app.js", named("app-")).replace("style.css", named("style-")),
);
for (const name of ["icon.svg", "licenses.txt"])
  writeFileSync(join(out, name), readFileSync(join(here, "src", name)));
