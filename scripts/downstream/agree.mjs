// Checks that other engines read streams and checkpoints as we do: for every
// column the number of rows and nulls, minimum, maximum, and the sum of numbers
// or the number of different texts; and that what SQLite says of an export is
// what we say of it.
//
//	node agree.mjs EXPORT...
//
// Our figures come from the rows that the commands write as JSON.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import pl from "nodejs-polars";
import { tableFromIPC } from "apache-arrow";
import { parquetReadObjects, asyncBufferFromFile } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { openDuckDB, openWasm, openSQLite } from "./engines.mjs";

const texts = new Set(["kind", "name", "class", "domain", "phase"]);
let comparisons = 0, failures = 0;

function ours(command, args) {
  return execFileSync(command, args, { maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "ignore"] });
}

/** Rows of JSON lines, with their numbers as BigInt. */
function rowsOf(jsonLines) {
  const tagged = jsonLines.replace(/"(?:[^"\\]|\\.)*"|-?\d+/g, (t) => (t[0] === '"' ? t : `{"n":"${t}"}`));
  return tagged.split("\n").filter(Boolean).map((line) => {
    const row = JSON.parse(line);
    for (const k in row) if (row[k]?.n !== undefined) row[k] = BigInt(row[k].n);
    return row;
  });
}

const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The figures of a column, from its values; what is missing is null. */
function figures(name, values) {
  let nulls = 0, min = null, max = null, sum = 0n;
  const different = new Set(), less = texts.has(name) ? (a, b) => byBytes(a, b) < 0 : (a, b) => a < b;
  for (let v of values) {
    if (v === null || v === undefined) { nulls++; continue; }
    if (texts.has(name)) different.add(v);
    else { v = BigInt(v); sum += v; }
    if (min === null || less(v, min)) min = v;
    if (max === null || less(max, v)) max = v;
  }
  const last = texts.has(name) ? different.size : nulls === values.length ? null : sum;
  return [values.length, nulls, min, max, last].map(String).join(" | ");
}

/** What an engine says that does the sums itself, in SQL. */
async function sqlFigures(engine, from, columns) {
  const result = {};
  for (const name of columns) {
    const q = texts.has(name) ? `"${name}"` : `"${name}"::BIGINT`; // a partition that is null alone has no type
    const last = texts.has(name) ? `count(DISTINCT ${q})` : `sum(${q})`;
    const { rows: [row] } = await engine.sql(
      `SELECT count(*)::VARCHAR, (count(*) - count(${q}))::VARCHAR, min(${q})::VARCHAR, max(${q})::VARCHAR, (${last})::VARCHAR FROM ${from}`);
    result[name] = row.map(String).join(" | ");
  }
  return result;
}

function polarsFigures(frame, columns) {
  const result = {};
  for (const name of columns) {
    if (texts.has(name)) {
      result[name] = figures(name, [...frame.getColumn(name).cast(pl.Utf8)]);
      continue;
    }
    const s = frame.getColumn(name).cast(pl.Int64);
    const figure = frame.select(
      pl.col(name).cast(pl.Int64).min().cast(pl.Utf8).alias("min"), pl.col(name).cast(pl.Int64).max().cast(pl.Utf8).alias("max"),
      pl.col(name).cast(pl.Int64).sum().cast(pl.Utf8).alias("sum")).row(0);
    const none = s.nullCount() === s.length;
    result[name] = [s.length, s.nullCount(), figure[0], figure[1], none ? null : figure[2]].map(String).join(" | ");
  }
  return result;
}

/** The same figures with sums as Polars makes them, of 64 bits. */
function wrapped(want) {
  const wrap = (text) => text.replace(/-?\d+$/, (sum) => BigInt.asIntN(64, BigInt(sum)));
  return Object.fromEntries(Object.entries(want).map(([name, text]) => [name, texts.has(name) ? text : wrap(text)]));
}

function valueFigures(columns, column) {
  return Object.fromEntries(columns.map((name) => [name, figures(name, column(name))]));
}

function check(what, got, want) {
  for (const name of Object.keys(want)) {
    comparisons++;
    if (got[name] !== want[name]) {
      failures++;
      console.error(`${what}: column ${name}: rows | nulls | min | max | sum or different: ${got[name]}, ours ${want[name]}`);
    }
  }
}

async function hyparquetRows(files) {
  const rows = [];
  for (const file of files) rows.push(...await parquetReadObjects({ file: await asyncBufferFromFile(file), compressors }));
  return rows;
}

async function compareStage(report, stage, dir) {
  const stream = join(dir, "s.arrows"), file = join(dir, "c.parquet"), set = join(dir, "set");
  rmSync(set, { recursive: true, force: true });
  writeFileSync(stream, ours(stage, [report, "--checkpoint", set]));
  ours(stage, [report, "-o", file]);
  const rows = rowsOf(ours("nsys2arrow", [stream, "--format", "json"]).toString());
  const text = ours("nsys2arrow", [stream, "--format", "csv"]).toString();
  const columns = text.slice(0, text.indexOf("\n")).split(",");
  const want = valueFigures(columns, (name) => rows.map((r) => r[name]));
  const what = `${basename(report)} ${stage}`;

  const parts = readdirSync(set).filter((n) => n.startsWith("rank=")).map((n) => join(set, n));
  const files = parts.flatMap((p) => readdirSync(p).map((n) => join(p, n)));
  const duck = await openDuckDB();
  check(`${what}: DuckDB, data set`, await sqlFigures(duck, `read_parquet('${set}/**/*.parquet', hive_partitioning = true)`, columns), want);
  check(`${what}: DuckDB, file`, await sqlFigures(duck, `read_parquet('${file}')`, columns), want);
  duck.close();
  const wasm = await openWasm({ events: stream });
  check(`${what}: DuckDB-Wasm, stream`, await sqlFigures(wasm, "events", columns), want);
  wasm.close();
  check(`${what}: Polars, stream`, polarsFigures(pl.readIPCStream(readFileSync(stream)), columns), wrapped(want));
  check(`${what}: Polars, file`, polarsFigures(pl.readParquet(file), columns), wrapped(want));
  check(`${what}: Polars, data set`, polarsFigures(pl.scanParquet(`${set}/**/*.parquet`).collectSync(), columns), wrapped(want));
  const table = tableFromIPC(readFileSync(stream));
  check(`${what}: Arrow JS, stream`, valueFigures(columns, (name) => [...table.getChild(name)]), want);
  const objects = await hyparquetRows(files);
  check(`${what}: hyparquet, data set`, valueFigures(columns, (name) => objects.map((r) => r[name])), want);
  return rows;
}

/** What SQLite says of the tables of an export, beside what the rows say. */
async function compareExport(report, rows) {
  const db = await openSQLite(report);
  const tables = new Set((await db.sql("SELECT name FROM sqlite_master WHERE type = 'table'")).rows.flat());
  const of = (kind) => rows.filter((r) => r.kind === kind);
  const sum = (list) => list.reduce((a, b) => a + (b ?? 0n), 0n);
  const spans = (list) => [BigInt(list.length), sum(list.map((r) => r.end - r.start))];
  for (const [tableName, select, got] of [
    ["CUPTI_ACTIVITY_KIND_KERNEL", 'count(*), total("end" - start), count(DISTINCT shortName), sum(correlationId), sum(streamId), sum(deviceId)', () => {
      const k = of("kernel");
      return [...spans(k), BigInt(new Set(k.map((r) => r.name)).size), ...["correlation", "stream", "device"].map((c) => sum(k.map((r) => r[c])))];
    }],
    ["CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 'count(*), total("end" - start)', () => spans(of("graph"))],
    ["CUPTI_ACTIVITY_KIND_MEMCPY", 'count(*), total("end" - start), sum(bytes)', () => [...spans(of("memcpy")), sum(of("memcpy").map((r) => r.bytes))]],
    ["CUPTI_ACTIVITY_KIND_MEMSET", 'count(*), total("end" - start), sum(bytes)', () => [...spans(of("memset")), sum(of("memset").map((r) => r.bytes))]],
    ["CUPTI_ACTIVITY_KIND_RUNTIME", 'count(*), total("end" - start), sum(correlationId)', () => [...spans(of("api")), sum(of("api").map((r) => r.correlation))]],
    ["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", 'count(*), total("end" - start)', () => spans(of("sync"))],
    ["NVTX_EVENTS", 'count("end"), total("end" - start), max("end"), min(start)', () => {
      const n = of("nvtx");
      return [...spans(n), n.map((r) => r.end).reduce((a, b) => (a > b ? a : b)), n.map((r) => r.start).reduce((a, b) => (a < b ? a : b))];
    }],
  ]) {
    if (!tables.has(tableName)) continue;
    const where = tableName === "NVTX_EVENTS" ? 'WHERE eventType IN (59, 60, 70, 71) AND "end" IS NOT NULL' : "";
    const want = (await db.sql(`SELECT ${select} FROM ${tableName} ${where}`)).rows[0].map((v) => String(v ?? 0n));
    comparisons++;
    if (got().map(String).join() !== want.join()) {
      failures++;
      console.error(`${basename(report)}: SQLite says of ${tableName}: ${select}: ${want}; the rows say ${got()}`);
    }
  }
  db.close();
}

const [strict, loose] = [[], []]; // what SQLite can say of only holds for exports without oddities
for (const a of process.argv.slice(2)) (a.startsWith("rows:") ? loose : strict).push(a.replace(/^rows:/, ""));
const dir = mkdtempSync(join(tmpdir(), "hostbound-"));
try {
  for (const report of [...strict, ...loose]) {
    const rows = await compareStage(report, "nsys2arrow", dir);
    if (strict.includes(report)) {
      await compareExport(report, rows);
      await compareStage(report, "phase", dir);
    }
  }
} finally {
  rmSync(dir, { recursive: true });
}
if (comparisons < 100) { console.error(`only ${comparisons} comparisons`); failures++; }
console.log(`agree: ${strict.length + loose.length} exports, ${comparisons} columns and tables compared, ${failures} differ`);
process.exit(failures ? 1 : 0);
