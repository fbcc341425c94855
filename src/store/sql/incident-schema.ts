// The table of incidents, of both databases (`schema.ts`).
import type { Dialect } from './dialect.ts'

export function incidentSchema({ id }: Dialect): string {
  return `
  -- Incidents. \`content\`: the merged reports; the columns are for finding them. \`due_at\`: when something of it is to be counted.
  CREATE TABLE incidents (
    id                 ${id},
    instance           text     NOT NULL,
    project_id         bigint   NOT NULL,
    project            text,
    iid                bigint   NOT NULL,
    state              text     NOT NULL,
    opened_at          bigint,
    changed_at         bigint   NOT NULL,
    content            text     NOT NULL,
    -- When it was first reported.
    known_at           bigint   NOT NULL,
    due_at             bigint,
    -- When its opening and its end were counted, or found to be too old for that.
    opening_counted_at bigint,
    closing_counted_at bigint,
    UNIQUE (instance, project_id, iid)
  );
  CREATE INDEX incidents_due ON incidents (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX incidents_by_opening ON incidents (opened_at);
  CREATE INDEX incidents_of_project ON incidents (project, opened_at);
  CREATE INDEX incidents_open ON incidents (opened_at) WHERE state = 'opened';
  CREATE INDEX incidents_by_change ON incidents (changed_at);
  `
}
