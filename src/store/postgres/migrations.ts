// PostgreSQL's schema, as numbered steps; a released one is never edited.
import {
  comparedByIndex,
  comparedByRecent,
  countedTogether,
  listedAtOnce,
  listedLater,
} from '../sql/deployment-schema.ts'
import { schemaOf } from '../sql/schema.ts'

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
  -- A body is stored for a moment only: compressing it costs more than writing it.
  ALTER TABLE inbox ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE INDEX inbox_waiting ON inbox (id, leased_until);
  `,
  // 2: deployments are counted together, but for those that wait for their commits.
  countedTogether,
  // 3: what a deployment is compared with is found by indexes.
  comparedByIndex,
  // 4: the large indexes of deployments may be written later, for many at once.
  listedLater,
  // 5: the small index of deployments has all that is compared. Here it is empty, as each deployment is listed at once.
  comparedByRecent,
  // 6: large indexes of deployments are written at once; changes are counted without a lease.
  listedAtOnce,
]
