// Between which ids a part has jobs that it alone tells of: see run-rows.ts. For both databases.

/** One step of both databases' migrations. Parts of before have null: each of their jobs has a row, with its mark. */
export const toldMigration = `
  ALTER TABLE parts ADD COLUMN first_job bigint;
  ALTER TABLE parts ADD COLUMN last_job bigint;
  `
