// PostgreSQL's schema, as numbered steps; a released one is never edited.
import { namesOfTotals, schemaOf } from '../sql/schema.ts'

const tables = schemaOf({
  id: 'bigserial PRIMARY KEY',
  idForGood: 'bigserial PRIMARY KEY',
  ownId: 'bigint PRIMARY KEY',
  bytes: 'bytea',
  byKey: '',
})

export const postgresMigrations: readonly string[] = [
  // 1: the tables that both databases have.
  `${tables}
  -- A body is stored only for a moment: compressing it costs more than writing it.
  ALTER TABLE inbox ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE INDEX inbox_waiting ON inbox (id, leased_until);

  -- Idempotency keys of deliveries, remembered for a week.
  CREATE TABLE delivery_keys (
    key     text PRIMARY KEY,
    seen_at bigint NOT NULL
  );
  CREATE INDEX delivery_keys_by_age ON delivery_keys (seen_at);
  `,
  namesOfTotals,
]
