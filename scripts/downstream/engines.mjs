// Opens the engines that the tests ask, each behind the same two functions:
// sql(text) returns {names, rows}, close() ends it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const require = createRequire(import.meta.url);

/** DuckDB, which reads Parquet. */
export async function openDuckDB() {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  return {
    async sql(text) {
      const reader = await connection.runAndReadAll(text);
      return { names: reader.columnNames(), rows: reader.getRows() };
    },
    close: () => connection.closeSync(),
  };
}

/** DuckDB-Wasm, with streams as tables: {name: path}. */
export async function openWasm(streams) {
  const duckdb = require("@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs");
  const dist = require.resolve("@duckdb/duckdb-wasm").replace(/[^/]*$/, "");
  const db = await duckdb.createDuckDB({
    mvp: { mainModule: dist + "duckdb-mvp.wasm", mainWorker: "" },
    eh: { mainModule: dist + "duckdb-eh.wasm", mainWorker: "" },
  }, new duckdb.VoidLogger(), duckdb.NODE_RUNTIME);
  await db.instantiate();
  db.open({});
  const connection = db.connect();
  for (const [name, path] of Object.entries(streams))
    connection.insertArrowFromIPCStream(new Uint8Array(readFileSync(path)), { name, create: true });
  return {
    async sql(text) {
      const table = connection.query(text);
      const names = table.schema.fields.map((f) => f.name);
      return { names, rows: table.toArray().map((row) => Object.values(row.toJSON())) };
    },
    close: () => connection.close(),
  };
}

/** SQLite, on the export itself. */
export async function openSQLite(path) {
  const SQL = await require("sql.js")();
  const db = new SQL.Database(readFileSync(path));
  return {
    async sql(text) {
      const [result] = db.exec(text, undefined, { useBigInt: true });
      return { names: result?.columns ?? [], rows: result?.values ?? [] };
    },
    close: () => db.close(),
  };
}
