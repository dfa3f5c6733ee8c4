// Runs the code blocks of a page, in their order, and compares what they print
// with the block marked "text" behind them, or with what the block itself says
// behind its command ("console").
//
//	node page.mjs PAGE [--update]
//
// The working directory is where the page's shell block makes its data. SQL runs
// on DuckDB, which reads the checkpoints, and on DuckDB-Wasm, which reads the
// streams in their place. With --update the page is given what DuckDB and Node
// print; what others print is compared all the same.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDuckDB, openWasm } from "./engines.mjs";

const [page, flag] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
let text = readFileSync(page, "utf8");
let failures = 0, queries = 0, edit = [];

const blocks = [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map((m) => ({
  kind: m[1], code: m[2], from: m.index + m[1].length + 4, line: text.slice(0, m.index).split("\n").length,
}));

function fail(block, message) {
  console.error(`${page}:${block.line}: ${message}`);
  failures++;
}

/** A result as CSV, as the page shows it. */
function csv({ names, rows }) {
  const value = (v) => v === null || v === undefined ? "" : /[",\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v);
  return [names, ...rows].map((row) => row.map(value).join(",") + "\n").join("");
}

/** Compares with the block of text behind a block of code, or replaces it. */
function compare(block, got, who, updates) {
  const next = blocks[blocks.indexOf(block) + 1];
  const want = next?.kind === "text" ? next : undefined;
  if (!want) {
    if (got.trim() !== "" && !/^(Count|Success)?\n*\d*\n*$/.test(got)) fail(block, `${who} prints what the page does not show:\n${got}`);
    return;
  }
  if (flag === "--update" && updates) {
    edit.push({ from: want.from, to: want.from + want.code.length, code: got });
    want.now = got;
  }
  if ((want.now ?? want.code) !== got) fail(block, `${who} prints\n${got}and the page says\n${want.now ?? want.code}`);
}

const run = {
  console(block) { // one command, then what it prints
    const [, command, want] = block.code.match(/^\$ (.*)\n([^]*)$/);
    const got = execFileSync("bash", ["-euo", "pipefail", "-c", command], { encoding: "utf8" });
    if (flag === "--update") edit.push({ from: block.from, to: block.from + block.code.length, code: `$ ${command}\n${got}` });
    else if (got !== want) fail(block, `${command} prints\n${got}`);
  },

  sh(block) {
    const script = block.code.replaceAll("go run ./scripts/gentrace", "gentrace");
    execFileSync("bash", ["-euo", "pipefail", "-c", script], { stdio: ["ignore", "ignore", "pipe"] });
  },

  js(block) {
    const file = join(here, `block-${block.line}.mjs`); // beside the packages that it imports
    writeFileSync(file, block.code);
    const { status, stdout, stderr } = spawnSync("node", [file], { encoding: "utf8" });
    rmSync(file);
    if (status !== 0) return fail(block, stderr);
    compare(block, stdout, "Node", true);
  },

  async sql(block) {
    queries++;
    const view = /^CREATE VIEW \w+ AS FROM read_parquet/.test(block.code);
    const create = /^CREATE/.test(block.code);
    duck ??= await openDuckDB();
    for (const [engine, who] of [[duck, "DuckDB"], [wasm ??= view ? await openWasm({ events: "run.arrows", slower: "slower.arrows" }) : null, "DuckDB-Wasm"]]) {
      if (view && who !== "DuckDB") continue; // there the streams are tables
      for (const statement of block.code.split(/;\s*$/m).filter((s) => s.trim())) {
        try {
          const result = await engine.sql(statement);
          if (!create) compare(block, csv(result), who, who === "DuckDB");
        } catch (error) {
          fail(block, `${who}: ${error.message}`);
        }
      }
    }
  },

  python(block) {
    const has = spawnSync("python3", ["-c", "import polars, pandas, pyarrow, duckdb"]).status === 0;
    const check = has ? ["-c", block.code] : ["-c", "import sys; compile(sys.stdin.read(), 'block', 'exec')"];
    const { status, stderr, error } = spawnSync("python3", check, { input: block.code, encoding: "utf8" });
    if (!has) console.log(`${page}:${block.line}: Python without polars, pandas, pyarrow and duckdb: the block was not run`);
    if (status !== 0 && !error) fail(block, stderr);
  },
};

let duck, wasm;
for (const block of blocks) {
  if (block.kind === "text") continue;
  if (!run[block.kind]) fail(block, `nobody runs a block of ${block.kind}`);
  else await run[block.kind](block);
}

// The page says that its idle time is that of metrics.
const [[ours]] = execFileSync("metrics", ["run", "--format", "csv"], { encoding: "utf8" })
  .split("\n").filter((l) => l.startsWith("aggregate,gpu_idle_ratio,")).map((l) => [l.split(",")[2]]);
for (const [engine, who] of [[duck, "DuckDB"], [wasm, "DuckDB-Wasm"]]) {
  const { rows: [[theirs]] } = await engine.sql("SELECT sum(ns)::BIGINT FROM idle");
  if (String(theirs) !== ours) fail(blocks[0], `idle time of ${who} is ${theirs}, that of metrics ${ours}`);
}
if (queries < 10) fail(blocks[0], `only ${queries} blocks of SQL were found`);

for (const e of edit.sort((a, b) => b.from - a.from)) text = text.slice(0, e.from) + e.code + text.slice(e.to);
if (edit.length) writeFileSync(page, text);
console.log(`page: ${blocks.filter((b) => b.kind !== "text").length} blocks run, ${failures} failures`);
process.exit(failures ? 1 : 0);
